// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which kinds of drover_mutex_t a broadcast by the mutex's holder moves its
 * waiters to, and for which it wakes them all: the table in cond-design.rst.
 * Who was woken sleeps on the mutex afterwards; who was moved is still in its
 * first sleep. Where the kernel hands the mutex over, the policy is not asked.
 */
#include "fixture.h"
#include "run.h"
#include "tap.h"

#define NR_WAITERS 4

static const struct kind {
	uint32_t flags;
	const char *name;
} kinds[] = {
	{ 0, "normal" },
	{ DROVER_MUTEX_RECURSIVE, "recursive" },
	{ DROVER_MUTEX_ERRORCHECK, "errorcheck" },
	{ DROVER_MUTEX_ROBUST, "robust" },
	{ DROVER_MUTEX_PI, "PI" },
	{ DROVER_MUTEX_PI | DROVER_MUTEX_ROBUST, "PI, robust" },
	{ DROVER_MUTEX_SHARED, "shared" },
	{ DROVER_MUTEX_SHARED | DROVER_MUTEX_ROBUST, "shared, robust" },
	{ DROVER_MUTEX_SHARED | DROVER_MUTEX_PI, "shared, PI" },
};

#define NR_KINDS ((int)(sizeof(kinds) / sizeof(kinds[0])))

/* What the table says; @named: the broadcast is told the mutex. */
static bool moves(const struct kind *kind, bool shared, bool named)
{
	bool shared_mutex = kind->flags & DROVER_MUTEX_SHARED;
	/* Robust ones, too, are the kernel's. */
	bool pi = kind->flags & (DROVER_MUTEX_PI | DROVER_MUTEX_ROBUST);

	if (!shared)
		return !shared_mutex;
	return named && shared_mutex && !pi;
}

static void test_broadcast(const char *policy, const struct kind *kind,
			   bool shared, bool named)
{
	const drover_mutexattr_t mutex_attr = { .flags = kind->flags };
	const drover_condattr_t cond_attr = {
		.flags = shared ? DROVER_COND_SHARED : 0,
	};
	bool by_kernel = !shared &&
			 kind->flags & (DROVER_MUTEX_PI | DROVER_MUTEX_ROBUST);
	bool may_move = by_kernel ? !variant_is("none") : policy_moves(policy);
	bool expected = may_move && moves(kind, shared, named);
	int nr_woken = expected ? 0 : NR_WAITERS;
	drover_mutex_t mutex;
	drover_cond_t cond;
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);

	if (drover_mutex_init(&mutex, &mutex_attr) ||
	    drover_cond_init(&cond, &cond_attr))
		tap_bail("%s: init", kind->name);
	fixture_add(&fixture, NR_WAITERS);
	drover_mutex_lock(&mutex);
	if (named)
		drover_cond_broadcast_on(&cond, &mutex);
	else
		drover_cond_broadcast(&cond);
	tap_is(fixture_count(&fixture, AT_MUTEX), nr_woken,
	       "%s: %s mutex, %s condvar, broadcast%s: wakes %d", policy,
	       kind->name, shared ? "shared" : "private", named ? "_on" : "",
	       nr_woken);
	drover_mutex_unlock(&mutex);
	fixture_end(&fixture);
	drover_cond_destroy_on(&cond, &mutex);
	drover_mutex_destroy(&mutex);
}

static void test(const char *policy)
{
	for (int i = 0; i < NR_KINDS; i++) {
		watchdog(kinds[i].name);
		for (int shared = 0; shared <= 1; shared++) {
			test_broadcast(policy, &kinds[i], shared, false);
			test_broadcast(policy, &kinds[i], shared, true);
		}
	}
}

int main(int argc, char **argv)
{
	(void)argc;
	return policy_main(argv, 4 * NR_KINDS, test);
}
