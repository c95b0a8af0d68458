// SPDX-License-Identifier: GPL-2.0-only
/*
 * A wait by a thread that does not hold the mutex: EPERM, and whatever the
 * others do meanwhile is neither lost nor taken by somebody else.
 *
 * APIs: drover pthread
 */
#include "meet.h"

STEP(wait_not_held)
{
	own_result = api_cond_wait(&cond, &mutex);
	return 0;
}

/* After a broadcast somebody else begins to wait, for whom it was not. */
static const struct meeting meetings[] = {
	{ "not held, and a signal: the waiter returns", "wait", "wait_not_held",
	  "signal", "gone 1; own_result = EPERM" },
	{ "not held, and a signal, mutex held: the waiter returns", "wait",
	  "wait_not_held", "signal_held", "gone 1; own_result = EPERM" },
	{ "not held, and a broadcast, mutex held: the waiter returns", "wait",
	  "wait_not_held", "broadcast_held", "gone 1; own_result = EPERM" },
	{ "not held, and a broadcast: a newcomer waits", "gone 0",
	  "wait_not_held", "broadcast; join; sleeps 0",
	  "waiting = 1; own_result = EPERM" },
	{ "not held, and a broadcast to another: a newcomer waits", "wait",
	  "wait_not_held", "broadcast; join; sleeps 1",
	  "waiting = 1; returned = 1; own_result = EPERM" },
};

static void test(const char *policy)
{
	scene_start(policy, "errorcheck", false);
	meetings_test(policy, meetings, NR_OF(meetings));
}

int main(int argc, char **argv)
{
	api_start(argv);
	scenarios_start(argc, argv, 150);
	return policy_main(argv, test);
}
