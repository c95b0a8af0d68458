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

static int wait_on_both(api_cond_t *c, api_mutex_t *m)
{
	int err = do_time_out(NULL);

	return err == ETIMEDOUT ? api_cond_wait(&other_cond, m) : -1;
}

STEP(walk)
{
	scene_add(1, &(struct member){ .wait = wait_on_both }, true);
	return 0;
}

STEP(broadcast_other)
{
	return api_cond_broadcast(&other_cond);
}

static const struct scene scenes[] = {
	{ "waiters of two condvars, one after the other, are not mixed",
	  "walk; wait; broadcast; gone 1; returned = 1; sleeps 0 = 1;"
	  "broadcast_other; gone 2; zeros = 2" },
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
