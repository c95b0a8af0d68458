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
#define MOST_MEMBERS 10000
#include "steps.h"

/* ThreadSanitizer takes ten times as long, and a guest more. */
#ifdef __SANITIZE_THREAD__
#define NR_WAITERS 500
#else
#define NR_WAITERS (variant_is_host() ? 3000 : 1000)
#endif

NUMBER(half, 0);
NUMBER(all, 0);

/* The signals close a group, and who waits afterwards is in another one. */
static const struct scene scenes[] = {
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
	scenes_test(policy, scenes, 4);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "waiters");

	api_start(argv);
	word_half.value = args_get(&args, "waiters", NR_WAITERS) / 2;
	word_all.value = 2 * word_half.value;
	return policy_main(argv, test);
}
