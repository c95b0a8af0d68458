// SPDX-License-Identifier: GPL-2.0-only
/*
 * One condvar with two mutexes, one after the other, overlapping while waiters
 * of the first are still on the way, and at the same time.
 *
 * APIs: drover pthread
 */
#include "fixture.h"
#include "run.h"
#include "tap.h"

#define NR_WAITERS 6

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutexes[2] = {
	API_MUTEX_INITIALIZER,
	API_MUTEX_INITIALIZER,
};

static bool all_return(api_mutex_t *mutex)
{
	struct fixture fixture = fixture_of(&cond, mutex, NR_WAITERS);

	fixture_add(&fixture, NR_WAITERS);
	broadcast_as(&cond, mutex, true);
	return fixture_all(&fixture);
}

static void test_in_turn(const char *policy)
{
	bool all = true;

	for (int i = 0; i < 6; i++)
		all = all_return(&mutexes[i % 2]) && all;
	tap_ok(all, "%s: one mutex after the other: all return", policy);
}

/* Waiters of the first are unblocked and queue for it; it stays held. */
static void test_overlapping(const char *policy)
{
	struct fixture first = fixture_of(&cond, &mutexes[0], NR_WAITERS);
	bool all;

	fixture_add(&first, NR_WAITERS);
	api_mutex_lock(&mutexes[0]);
	api_cond_broadcast(&cond);
	all = all_return(&mutexes[1]);
	tap_ok(all, "%s: the second works while the first is held", policy);
	tap_is(fixture_count(&first, RETURNED), 0, "%s: the first still waits",
	       policy);
	api_mutex_unlock(&mutexes[0]);
	fixture_gone(&first, NR_WAITERS);
	tap_is(fixture_results(&first, 0), NR_WAITERS,
	       "%s: and returns when it is unlocked", policy);
	fixture_end(&first);
}

static void fill_both(struct fixture *fixture)
{
	for (int i = 0; i < NR_WAITERS; i++) {
		const struct member how = { .mutex = &mutexes[i % 2] };

		member_asleep(fixture_start(fixture, &how));
	}
}

/* Nobody may be moved to a mutex that is not its own. */
static void test_broadcast(const char *policy, int nr_held)
{
	struct fixture fixture = fixture_of(&cond, &mutexes[0], NR_WAITERS);

	fill_both(&fixture);
	for (int i = 0; i < nr_held; i++)
		api_mutex_lock(&mutexes[i]);
	api_cond_broadcast(&cond);
	if (nr_held == 1)
		fixture_gone(&fixture, NR_WAITERS / 2);
	for (int i = 0; i < nr_held; i++)
		api_mutex_unlock(&mutexes[i]);
	fixture_gone(&fixture, NR_WAITERS);
	tap_is(fixture_results(&fixture, 0), NR_WAITERS,
	       "%s: at the same time, %d held: a broadcast returns all", policy,
	       nr_held);
	fixture_end(&fixture);
}

static void test_signals(const char *policy)
{
	struct fixture fixture = fixture_of(&cond, &mutexes[0], NR_WAITERS);
	bool exact = true;

	fill_both(&fixture);
	for (int i = 1; i <= NR_WAITERS; i++) {
		api_mutex_lock(&mutexes[i % 2]);
		api_cond_signal(&cond);
		api_mutex_unlock(&mutexes[i % 2]);
		fixture_gone(&fixture, i);
		exact = exact && fixture_count(&fixture, RETURNED) == i;
	}
	tap_ok(exact, "%s: at the same time: a signal returns one", policy);
	fixture_end(&fixture);
}

static void test(const char *policy)
{
	watchdog("two mutexes");
	test_in_turn(policy);
	test_overlapping(policy);
	for (int nr_held = 0; nr_held <= 2; nr_held++)
		test_broadcast(policy, nr_held);
	test_signals(policy);
}

int main(int argc, char **argv)
{
	(void)argc;
	api_start(argv);
	return policy_main(argv, 8, test);
}
