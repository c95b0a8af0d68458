// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waits without a predicate: every broadcast returns every waiter once, every
 * signal one, and between them nobody returns.
 *
 * APIs: drover pthread
 */
#include "steps.h"

/*
 * A thread whose time is over on one condvar goes on to wait on another: what
 * the library keeps for those who wait together is used again.
 */
static api_cond_t other_cond = API_COND_INITIALIZER;
static pthread_t walker;
static atomic_int walker_tid, walker_results[2];

static void *wait_on_both(void *arg)
{
	struct timespec past = deadline_in(CLOCK_MONOTONIC, 0);

	api_mutex_lock(&mutex);
	walker_results[0] =
		api_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &past);
	atomic_store(&walker_tid, blocked_gettid());
	walker_results[1] = api_cond_wait(&other_cond, &mutex);
	api_mutex_unlock(&mutex);
	return arg;
}

STEP(walk)
{
	atomic_store(&walker_tid, 0);
	atomic_store(&walker_results[1], -1);
	start_thread(&walker, wait_on_both, NULL);
	if (wait_at_least(&walker_tid, 1) ||
	    place_settled(getpid(), atomic_load(&walker_tid), &mutex))
		tap_bail("it never slept");
	return walker_results[0];
}

STEP(walker_waits)
{
	return place_settled(getpid(), atomic_load(&walker_tid), &mutex) == 0 &&
	       walker_results[1] == -1;
}

STEP(walker_returns)
{
	api_cond_broadcast(&other_cond);
	pthread_join(walker, NULL);
	return walker_results[1];
}

static const struct scene scenes[] = {
	{ "waiters of two condvars, one after the other, are not mixed",
	  "walk = ETIMEDOUT; wait; broadcast; gone 1; zeros = 1;"
	  "walker_waits = 1; walker_returns = 0" },
	{ "broadcasts, mutex free, each returns all",
	  "wait 4; broadcast; gone 4; wait 4; returned = 4; broadcast; gone 8;"
	  "wait 4; returned = 8; broadcast; gone 12; zeros = 12" },
	{ "broadcasts, mutex held, each returns all",
	  "wait 4; lock; broadcast; unlock; gone 4; wait 4; returned = 4; lock;"
	  "broadcast; unlock; gone 8; wait 4; returned = 8; lock; broadcast;"
	  "unlock; gone 12; zeros = 12" },
	{ "signals, mutex free, return one each", "wait 5; each 5 0 = 1" },
	{ "signals, mutex held, return one each", "wait 5; each 5 1 = 1" },
	{ "two signals at once return two",
	  "wait 5; signal 2; gone 2; returned = 2; waiting = 3" },
	{ "four signals by the holder return four",
	  "wait 5; lock; signal 4; unlock; gone 4; returned = 4; waiting = 1" },
	{ "as many signals as waiters return all",
	  "wait 5; signal 5; gone 5; zeros = 5" },
	{ "signals go to the older first, and then to the younger",
	  "wait 3; signal; gone 1; wait 2; signal 2; gone 3; returned = 3;"
	  "signal 2; gone 5; zeros = 5" },
};

static void test(const char *policy)
{
	scene_start(policy, "normal", false);
	scenes_test(policy, scenes, NR_OF(scenes));
}

int main(int argc, char **argv)
{
	api_start(argv);
	return policy_main(argv, test);
}
