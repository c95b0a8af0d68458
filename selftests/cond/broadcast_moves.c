// SPDX-License-Identifier: GPL-2.0-only
/*
 * A broadcast while the mutex is in use makes at most one waiter runnable and
 * moves the rest to the mutex. Under wake-all, and on a kernel that cannot move
 * waiters, it wakes all of them. If thousands wait, each signal makes one of
 * them return, and a broadcast makes all others return, older and younger.
 *
 * APIs: drover pthread
 */
#define MOST_MEMBERS 3000
#include "steps.h"

/* With ThreadSanitizer this takes ten times as long, and longer in a guest. */
#ifdef __SANITIZE_THREAD__
#define NR_THOUSANDS 500
#else
#define NR_THOUSANDS (variant_is_host() ? 3000 : 1000)
#endif

NUMBER(half, 0);
NUMBER(all, 0);

/* With the mutex free, only the policy requeue moves waiters. */
STEP(woken_free)
{
	bool moves = policy_moves(scene_policy) &&
		     strcmp(scene_policy, "requeue") == 0;

	return fixture_count(&fixture, AT_MUTEX) + 1 == (moves ? 1 : 50);
}

static const struct scene scenes[] = {
	{ "a broadcast by the mutex's holder, and no waiter returns yet",
	  "wait 50; lock; broadcast; woken 0 50 = 1; returned = 0" },
	{ "a broadcast while another thread holds the mutex",
	  "wait 50; hold; broadcast; woken 1 50 = 1; let_go" },
	{ "a broadcast to older and younger waiters, by the mutex's holder",
	  "wait 30; signal; gone 1; wait 20; lock; broadcast;"
	  "woken 0 49 = 1" },
	{ "a broadcast to both while another thread holds the mutex",
	  "wait 30; signal; gone 1; wait 20; hold; broadcast;"
	  "woken 1 49 = 1; let_go" },
	/*
	 * The first waiter keeps the mutex, so the rest stay where the
	 * broadcast put them.
	 */
	{ "a broadcast with the mutex free, and one waiter returns at a time",
	  "wait 50; keep; broadcast; one_returns; woken_free = 1;"
	  "returned = 1" },
	{ "a signal by the holder: its unlock makes one waiter return",
	  "wait 3; lock; signal; returned = 0; unlock; gone 1; returned = 1;"
	  "waiting = 2" },
	/* The unlock of each waiter has to wake the next one. */
	{ "after a broadcast by the holder all return 0",
	  "wait 50; lock; broadcast; unlock; gone 50; zeros = 50" },
};

/* The signals close a group: later waiters are in another one. */
static const struct scene thousands[] = {
	{ "10 signals, mutex held, return 10, and a broadcast the rest",
	  "join half; lock; signal 10; unlock; gone 10; join half; zeros = 10;"
	  "lock; broadcast; unlock; gone all; zeros = all" },
	{ "10 signals, mutex free, return 10, and a broadcast the rest",
	  "join half; signal 10; gone 10; join half; zeros = 10; broadcast;"
	  "gone all; zeros = all" },
	{ "at their deadline all return",
	  "timed all; gone all; results ETIMEDOUT = all" },
	{ "after the deadlines a signal returns one",
	  "wait; lock; signal; unlock; gone 1; zeros = 1" },
};

static void test(const char *policy)
{
	scene_start(policy, "normal", false);
	scenes_test(policy, scenes, NR_OF(scenes));
	word_half.value = NR_THOUSANDS / 2;
	word_all.value = NR_THOUSANDS;
	scenes_test(policy, thousands, NR_OF(thousands));
}

POLICY_MAIN(test)
