// SPDX-License-Identifier: GPL-2.0-only
/*
 * A build of the library for kernels that mark the target of a requeue: a
 * broadcast while another thread holds the mutex wakes nobody, where the kernel
 * can mark, and one waiter where it cannot. Those who were moved return in any
 * case.
 *
 * APIs: drover pthread
 */
#include "base/futex.h"
#include "steps.h"

/* Nobody waits for these words, so a kernel that can mark has nothing to do. */
static bool kernel_marks(void)
{
	static futex_word words[2];

	return futex_requeue_mark(&words[0], 0, 0, &words[1], 2) == 0;
}

/* woken_held ALL: one or none, as the kernel can; all, where nobody is moved */
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
	{ "a broadcast while another thread holds it",
	  "wait 50; hold; broadcast; woken_held 50 = 1; let_go; gone 50;"
	  "zeros = 50" },
	{ "to older and younger waiters",
	  "wait 30; signal; gone 1; wait 20; hold; broadcast;"
	  "woken_held 49 = 1; let_go; gone 50; zeros = 50" },
	{ "twice, and each time all return",
	  "wait 20; hold; broadcast; let_go; gone 20; wait 30; hold; broadcast;"
	  "let_go; gone 50; zeros = 50" },
	{ "with the mutex free", "wait 50; broadcast; gone 50; zeros = 50" },
	{ "by its holder",
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
