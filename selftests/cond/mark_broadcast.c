// SPDX-License-Identifier: GPL-2.0-only
/*
 * A build of the library for kernels that mark the target of a requeue: a
 * broadcast while another thread holds the mutex wakes no waiter if the kernel
 * can mark, and one waiter if it cannot. Waiters that were moved return in both
 * cases.
 *
 * APIs: drover pthread
 */
#include "base/futex.h"
#include "steps.h"

/*
 * Does the kernel know the call? No thread waits on these words, so the call
 * moves none.
 */
static bool kernel_marks(void)
{
	static futex_word words[2];

	return futex_requeue_mark(&words[0], 0, 0, &words[1], 2) == 0;
}

/*
 * woken_held ALL: was no waiter woken if the kernel can mark, and one if it
 * cannot? Were ALL, if the policy moves none?
 */
STEP(woken_held)
{
	int nr = fixture_count(&fixture, AT_MUTEX);
	int want = kernel_marks() ? 0 : 1;

	if (nr == (policy_moves(scene_policy) ? want : args[0]))
		return 1;
	tap_diag("%d were woken", nr);
	return 0;
}

STEP_IS(marks, kernel_marks());

static const struct scene drover[] = {
	{ "this kernel can mark", "marks = 1" },
};

static const struct scene scenes[] = {
	{ "a broadcast while another thread holds the mutex",
	  "wait 50; hold; broadcast; woken_held 50 = 1; let_go; gone 50;"
	  "zeros = 50" },
	{ "the same to older and younger waiters",
	  "wait 30; signal; gone 1; wait 20; hold; broadcast;"
	  "woken_held 49 = 1; let_go; gone 50; zeros = 50" },
	{ "two such broadcasts, and each time all return",
	  "wait 20; hold; broadcast; let_go; gone 20; wait 30; hold; broadcast;"
	  "let_go; gone 50; zeros = 50" },
	{ "a broadcast with the mutex free",
	  "wait 50; broadcast; gone 50; zeros = 50" },
	{ "a broadcast by the mutex's holder",
	  "wait 50; lock; broadcast; unlock; gone 50; zeros = 50" },
};

static void test(const char *policy)
{
	scene_start(policy, "normal", false);
	if (variant_is("drover"))
		scenes_test(policy, drover, NR_OF(drover));
	scenes_test(policy, scenes, NR_OF(scenes));
}

POLICY_MAIN(test)
