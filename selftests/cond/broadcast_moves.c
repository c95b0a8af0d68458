// SPDX-License-Identifier: GPL-2.0-only
/*
 * A broadcast while the mutex is in use makes at most one waiter runnable and
 * moves the rest to the mutex; under wake-all, and where the kernel cannot
 * move, it wakes all. Where thousands wait, so many signals return so many and
 * a broadcast all others, older and younger.
 *
 * APIs: drover pthread
 */
#define MOST_MEMBERS 3000
#include "steps.h"

/* ThreadSanitizer takes ten times as long, and a guest more. */
#ifdef __SANITIZE_THREAD__
#define NR_THOUSANDS 500
#else
#define NR_THOUSANDS (variant_is_host() ? 3000 : 1000)
#endif

NUMBER(half, 0);
NUMBER(all, 0);

/* With the mutex free only one policy moves. */
STEP(woken_free)
{
	bool moves = policy_moves(scene_policy) &&
		     strcmp(scene_policy, "requeue") == 0;

	return fixture_count(&fixture, AT_MUTEX) + 1 == (moves ? 1 : 50);
}

static const struct scene scenes[] = {
	{ "a broadcast by the mutex's holder, and nobody returns yet",
	  "wait 50; lock; broadcast; woken 0 50 = 1; returned = 0" },
	{ "a broadcast while another thread holds it",
	  "wait 50; hold; broadcast; woken 1 50 = 1; let_go" },
	{ "to older and younger waiters, by the holder",
	  "wait 30; signal; gone 1; wait 20; lock; broadcast;"
	  "woken 0 49 = 1" },
	{ "to older and younger waiters, held by another",
	  "wait 30; signal; gone 1; wait 20; hold; broadcast;"
	  "woken 1 49 = 1; let_go" },
	/* The first keeps it, so the rest stay where the broadcast put them. */
	{ "with the mutex free, and one returns at a time",
	  "wait 50; keep; broadcast; one_returns; woken_free = 1;"
	  "returned = 1" },
	{ "a signal by the holder: its unlock returns that one alone",
	  "wait 3; lock; signal; returned = 0; unlock; gone 1; returned = 1;"
	  "waiting = 2" },
	/* Each has to be woken by the unlock of the one before. */
	{ "all return 0",
	  "wait 50; lock; broadcast; unlock; gone 50; zeros = 50" },
};

/* The signals close a group, and who waits afterwards is in another one. */
static const struct scene thousands[] = {
	{ "signals, mutex held, return as many, and a broadcast the rest",
	  "join half; lock; signal 10; unlock; gone 10; join half; zeros = 10;"
	  "lock; broadcast; unlock; gone all; zeros = all" },
	{ "signals, mutex free, return as many, and a broadcast the rest",
	  "join half; signal 10; gone 10; join half; zeros = 10; broadcast;"
	  "gone all; zeros = all" },
	{ "deadlines return all",
	  "timed all; gone all; results ETIMEDOUT = all" },
	{ "and then one", "wait; lock; signal; unlock; gone 1; zeros = 1" },
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
