// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every kind of mutex, with a private and with a process-shared condvar: it
 * works, and is moved to or not as the table in cond-design.rst has it.
 */
#include "fixture.h"
#include "blocked.h"
#include "run.h"
#include "tap.h"

#define NR_WAITERS 4

struct kind {
	const char *name;
	int type;
	int robust;
	int protocol;
	int pshared;
	bool elided;
	bool moved_to; /* with a private condvar */
};

/*
 * What glibc adds to __kind where it elides locks. Without the hardware it must
 * not try: so many times it does not, and it has no trylock at all.
 */
#define KIND_ELIDED 256
#define NOT_YET	    30000

static const struct kind kinds[] = {
	{ .name = "normal", .moved_to = true },
	{ .name = "recursive",
	  .type = PTHREAD_MUTEX_RECURSIVE,
	  .moved_to = true },
	{ .name = "errorcheck",
	  .type = PTHREAD_MUTEX_ERRORCHECK,
	  .moved_to = true },
	{ .name = "adaptive",
	  .type = PTHREAD_MUTEX_ADAPTIVE_NP,
	  .moved_to = true },
	{ .name = "robust", .robust = PTHREAD_MUTEX_ROBUST },
	{ .name = "PI", .protocol = PTHREAD_PRIO_INHERIT, .moved_to = true },
	{ .name = "PI, recursive",
	  .type = PTHREAD_MUTEX_RECURSIVE,
	  .protocol = PTHREAD_PRIO_INHERIT,
	  .moved_to = true },
	{ .name = "PI, robust",
	  .robust = PTHREAD_MUTEX_ROBUST,
	  .protocol = PTHREAD_PRIO_INHERIT },
	{ .name = "protect", .protocol = PTHREAD_PRIO_PROTECT },
#ifdef __x86_64__
	{ .name = "elided", .elided = true },
#endif
	{ .name = "shared", .pshared = PTHREAD_PROCESS_SHARED },
	{ .name = "shared, robust",
	  .robust = PTHREAD_MUTEX_ROBUST,
	  .pshared = PTHREAD_PROCESS_SHARED },
	{ .name = "shared, PI",
	  .protocol = PTHREAD_PRIO_INHERIT,
	  .pshared = PTHREAD_PROCESS_SHARED },
};

#define NR_KINDS   ((int)(sizeof(kinds) / sizeof(kinds[0])))
#define NR_RESULTS 6

static pthread_mutex_t mutex;
static pthread_cond_t cond;
static char label[128];

static void make_mutex(const struct kind *kind)
{
	pthread_mutexattr_t attr;
	int err;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, kind->type);
	pthread_mutexattr_setrobust(&attr, kind->robust);
	pthread_mutexattr_setprotocol(&attr, kind->protocol);
	pthread_mutexattr_setpshared(&attr, kind->pshared);
	err = pthread_mutex_init(&mutex, &attr);
	if (err)
		tap_bail("mutex, %s: %s", kind->name, strerror(err));
	pthread_mutexattr_destroy(&attr);
#ifdef __x86_64__
	if (kind->elided) {
		mutex.__data.__kind |= KIND_ELIDED;
		mutex.__data.__elision = NOT_YET;
	}
#endif
}

static void make_cond(int pshared)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setpshared(&attr, pshared);
	pthread_cond_init(&cond, &attr);
	pthread_condattr_destroy(&attr);
}

static void test_signals(bool keep)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);
	bool exact = true;

	fixture_add(&fixture, NR_WAITERS);
	for (int i = 1; i <= NR_WAITERS; i++) {
		if (keep)
			pthread_mutex_lock(&mutex);
		pthread_cond_signal(&cond);
		if (keep)
			pthread_mutex_unlock(&mutex);
		fixture_gone(&fixture, i);
		exact = exact && fixture_count(&fixture, RETURNED) == i;
	}
	tap_ok(exact && fixture_results(&fixture, 0) == NR_WAITERS,
	       "%s: a signal, mutex %s, returns one", label,
	       keep ? "held" : "free");
	fixture_end(&fixture);
}

/* Who was woken sleeps on the mutex; who was moved is in its first sleep. */
static void test_moved(bool moved)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);

	fixture_add(&fixture, NR_WAITERS);
	pthread_mutex_lock(&mutex);
	pthread_cond_broadcast(&cond);
	tap_is(fixture_count(&fixture, AT_MUTEX), moved ? 0 : NR_WAITERS,
	       "%s: a broadcast by the holder %s", label,
	       moved ? "moves all" : "wakes all");
	pthread_mutex_unlock(&mutex);
	fixture_end(&fixture);
}

static void test_broadcast(bool keep)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);

	fixture_add(&fixture, NR_WAITERS);
	if (keep)
		pthread_mutex_lock(&mutex);
	pthread_cond_broadcast(&cond);
	if (keep)
		pthread_mutex_unlock(&mutex);
	fixture_gone(&fixture, NR_WAITERS);
	tap_is(fixture_results(&fixture, 0), NR_WAITERS,
	       "%s: a broadcast, mutex %s, returns all", label,
	       keep ? "held" : "free");
	fixture_end(&fixture);
}

static void *mutex_is_busy(void *busy)
{
	const struct timespec past = { 0, 0 };

	*(int *)busy = pthread_mutex_timedlock(&mutex, &past) == ETIMEDOUT;
	return NULL;
}

static void test_timeout(void)
{
	struct timespec past = deadline_in(CLOCK_MONOTONIC, -1);
	pthread_t other;
	int result, busy;

	pthread_mutex_lock(&mutex);
	result = pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &past);
	if (pthread_create(&other, NULL, mutex_is_busy, &busy))
		tap_bail("pthread_create");
	pthread_join(other, NULL);
	tap_ok(result == ETIMEDOUT && busy && !pthread_mutex_unlock(&mutex),
	       "%s: a timeout, with the mutex held", label);
}

static void *try_lock(void *may)
{
	*(bool *)may = pthread_mutex_lock(&mutex) == 0;
	if (*(bool *)may)
		pthread_mutex_unlock(&mutex);
	return NULL;
}

/*
 * Only a real-time thread can lock a mutex with a priority ceiling, and may not
 * be above it. Threads that are created inherit that.
 */
static void set_priority(const struct kind *kind)
{
	const bool ceiling = kind->protocol == PTHREAD_PRIO_PROTECT;
	struct sched_param param = { .sched_priority = ceiling };

	pthread_setschedparam(pthread_self(),
			      ceiling ? SCHED_FIFO : SCHED_OTHER, &param);
}

/* And not everybody may be a real-time thread. */
static bool may_lock(const struct kind *kind)
{
	pthread_t thread;
	bool may;

	if (kind->protocol == PTHREAD_PRIO_PROTECT && !ANY_LOCK_MAY_FAIL)
		return false;
	if (pthread_create(&thread, NULL, try_lock, &may))
		tap_bail("pthread_create");
	pthread_join(thread, NULL);
	return may;
}

static void test_kind(const char *policy, const struct kind *kind, int pshared)
{
	/* Where the kernel hands the mutex over, the policy is not asked. */
	bool moves = kind->protocol == PTHREAD_PRIO_INHERIT ?
			     !variant_is("none") :
			     policy_moves(policy);

	snprintf(label, sizeof(label), "%s: %s mutex, %s condvar", policy,
		 kind->name, pshared ? "shared" : "private");
	watchdog(label);
	make_mutex(kind);
	make_cond(pshared);
	set_priority(kind);
	if (may_lock(kind)) {
		test_signals(false);
		test_signals(true);
		test_broadcast(false);
		test_broadcast(true);
		test_moved(moves && kind->moved_to && !pshared);
		test_timeout();
	} else {
		for (int i = 0; i < NR_RESULTS; i++)
			tap_skip(label, "this user may not lock it");
	}
	pthread_cond_destroy(&cond);
	pthread_mutex_destroy(&mutex);
}

static void test(const char *policy)
{
	for (int i = 0; i < NR_KINDS; i++) {
		test_kind(policy, &kinds[i], PTHREAD_PROCESS_PRIVATE);
		test_kind(policy, &kinds[i], PTHREAD_PROCESS_SHARED);
	}
}

int main(int argc, char **argv)
{
	(void)argc;
	drop_in_load(argv);
	return policy_main(argv, 2 * NR_KINDS * NR_RESULTS, test);
}
