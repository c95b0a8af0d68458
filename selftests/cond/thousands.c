// SPDX-License-Identifier: GPL-2.0-only
/*
 * Thousands wait on one condvar: so many signals return so many, a broadcast
 * returns all others, older and younger, and deadlines that pass all at once
 * return everybody. Nobody is left, and nobody returns for nothing.
 *
 *	waiters=N
 *
 * APIs: drover pthread
 */
#include "run.h"
#include "fixture.h"
#include "blocked.h"
#include "tap.h"

/* ThreadSanitizer takes ten times as long, and a guest more. */
#ifdef __SANITIZE_THREAD__
#define NR_WAITERS 500
#else
#define NR_WAITERS (variant_is_host() ? 3000 : 1000)
#endif
#define NR_SIGNALS 10
#define NR_RESULTS 6

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;
static int nr_waiters;

/* Members that wait for sure, and most of them asleep. */
static void fixture_join(struct fixture *fixture, int nr,
			 const struct member *how)
{
	int first = fixture->nr;

	for (int i = 0; i < nr; i++)
		fixture_start(fixture, how);
	for (int i = first; i < fixture->nr; i++)
		member_has_joined(&fixture->members[i]);
}

static void call(int (*function)(api_cond_t *), int nr, bool keep)
{
	for (int i = 0; i < nr; i++) {
		if (keep)
			api_mutex_lock(&mutex);
		function(&cond);
		if (keep)
			api_mutex_unlock(&mutex);
	}
}

/* The signals close a group, and who waits afterwards is in another one. */
static void test_unblocked(const char *policy, bool keep)
{
	struct fixture fixture = fixture_of(&cond, &mutex, nr_waiters);
	const char *held = keep ? "held" : "free";

	watchdog("thousands are unblocked");
	fixture_join(&fixture, nr_waiters / 2, NULL);
	call(api_cond_signal, NR_SIGNALS, keep);
	fixture_gone(&fixture, NR_SIGNALS);
	fixture_join(&fixture, nr_waiters - nr_waiters / 2, NULL);
	tap_is(atomic_load(&fixture.nr_returned), NR_SIGNALS,
	       "%s: signals, mutex %s, return as many", policy, held);
	call(api_cond_broadcast, 1, keep);
	fixture_gone(&fixture, nr_waiters);
	tap_is(fixture_results(&fixture, 0), nr_waiters,
	       "%s: a broadcast, mutex %s, returns the rest of %d", policy,
	       held, nr_waiters);
	fixture_end(&fixture);
}

static void test_timeouts(const char *policy)
{
	struct timespec soon = deadline_in(CLOCK_MONOTONIC, 100 * NS_PER_MS);
	const struct member how = { .deadline = &soon,
				    .clock = CLOCK_MONOTONIC };
	struct fixture fixture = fixture_of(&cond, &mutex, nr_waiters);

	watchdog("thousands time out");
	fixture_join(&fixture, nr_waiters, &how);
	fixture_gone(&fixture, nr_waiters);
	tap_is(fixture_results(&fixture, ETIMEDOUT), nr_waiters,
	       "%s: deadlines return %d", policy, nr_waiters);
	fixture_end(&fixture);
}

/* It is as good as new. */
static void test_one(const char *policy)
{
	struct fixture fixture = fixture_of(&cond, &mutex, 1);

	fixture_wait(&fixture);
	call(api_cond_signal, 1, true);
	fixture_gone(&fixture, 1);
	tap_is(fixture_results(&fixture, 0), 1, "%s: and then one", policy);
	fixture_end(&fixture);
}

static void test(const char *policy)
{
	test_unblocked(policy, true);
	test_unblocked(policy, false);
	test_timeouts(policy);
	test_one(policy);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "waiters");

	api_start(argv);
	nr_waiters = args_get(&args, "waiters", NR_WAITERS);
	return policy_main(argv, NR_RESULTS, test);
}
