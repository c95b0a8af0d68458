// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waits with a deadline: they return ETIMEDOUT and EINVAL when they should. A
 * waiter that was unblocked before its deadline returns 0, and a waiter that
 * timed out takes no signal.
 *
 * APIs: drover pthread
 */
#include "steps.h"

static const struct scene scenes[] = {
	/*
	 * The kernel ends the waiter's sleep, at the condvar or at the mutex.
	 */
	{ "the mutex is free only after the deadline, a broadcast: 0",
	  "timed; lock; broadcast; in_time; time_passes; at_mutex; unlock;"
	  "gone 1; zeros = 1" },
	{ "the mutex is free only after the deadline, a signal: 0",
	  "timed; lock; signal; in_time; time_passes; at_mutex; unlock;"
	  "gone 1; zeros = 1" },
	{ "a waiter that has timed out takes no signal",
	  "wait; timed; gone 1; signal; gone 2; result 1 = ETIMEDOUT;"
	  "result 0 = 0" },
};

static void *count_locks(void *nr)
{
	api_mutex_lock(&mutex);
	atomic_fetch_add((atomic_int *)nr, 1);
	api_mutex_unlock(&mutex);
	return NULL;
}

#define DEFAULT	 (-1) /* timedwait(), which uses the condvar's own clock */
#define RELATIVE (-2)

static const clockid_t clocks[] = { DEFAULT, CLOCK_REALTIME, CLOCK_MONOTONIC };

/* Waits of the main thread, which end with the mutex held. */
static const struct wait {
	const char *name;
	int result;
	struct timespec time;
} waits[] = {
	{ "past", ETIMEDOUT, { RELATIVE, -1 } },
	{ "before the epoch", ETIMEDOUT, { -1, 0 } },
	{ "long ago", ETIMEDOUT, { INT64_MIN, 0 } },
	{ "in 2 ms", ETIMEDOUT, { RELATIVE, 2000000 } },
	{ "tv_nsec below 0", EINVAL, { 0, -1 } },
	{ "tv_nsec of a second", EINVAL, { 0, NS_PER_S } },
}, other_clock = { "another clock", EINVAL, { 0, 1 } };

static clockid_t own_clock;

/* Another thread queues for the mutex; a bad call must not let it in. */
static void test_wait(const char *policy, const struct wait *wait, clockid_t on)
{
	clockid_t clock = on == DEFAULT ? own_clock : on;
	struct timespec deadline = wait->time;
	atomic_int nr_locks = 0;
	pthread_t other;
	int result;
	bool ok;

	api_mutex_lock(&mutex);
	start_thread(&other, count_locks, &nr_locks);
	if (deadline.tv_sec == RELATIVE)
		deadline = deadline_in(clock, wait->time.tv_nsec);
	if (on == DEFAULT)
		result = api_cond_timedwait(&cond, &mutex, &deadline);
	else
		result = api_cond_clockwait(&cond, &mutex, clock, &deadline);
	ok = result == wait->result && do_busy(NULL);
	if (result == EINVAL)
		ok = ok && nr_locks == 0;
	else
		ok = ok && deadline_passed(clock, &deadline);
	tap_ok(ok, "%s: clock %d of a condvar of clock %d, %s: %s, mutex held",
	       policy, on, own_clock, wait->name, strerror(wait->result));
	api_mutex_unlock(&mutex);
	pthread_join(other, NULL);
}

static void test_clock(const char *policy, clockid_t clock)
{
	watchdog("timed waits");
	scene_start(policy, "normal", false);
	own_clock = clock;
	MUST(cond_init_for(&cond, clock, false));
	for (int i = 0; i < NR_OF(waits) * NR_OF(clocks); i++)
		test_wait(policy, &waits[i / NR_OF(clocks)],
			  clocks[i % NR_OF(clocks)]);
	test_wait(policy, &other_clock, CLOCK_PROCESS_CPUTIME_ID);
	test_wait(policy, &other_clock, 4711);
}

static void test(const char *policy)
{
	test_clock(policy, CLOCK_MONOTONIC);
	test_clock(policy, CLOCK_REALTIME);
	scenes_test(policy, scenes, NR_OF(scenes));
}

POLICY_MAIN(test)
