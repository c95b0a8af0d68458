// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters that wrap, brought to where they wrap: the interrupts of a group, and
 * the generations of forks.
 * It looks inside the library, to which it is linked.
 */
/* The member of a group is not the member of a fixture. */
#define member group_member
#include "cond/cond.h"
#undef member

#include "../cond/steps.h"
#include "fake_futex.h"

#define NR_INTERRUPTS 300 /* more than twice what there is room for */

/* interrupts N: after each the group has N who are blocked */
STEP(interrupts)
{
	struct group *g = load_relaxed(&((struct cond *)&cond)->open);
	bool exact = true;

	for (int i = 0; i < NR_INTERRUPTS; i++) {
		group_interrupt(g, UINT32_MAX);
		exact = exact && group_blocked(g) == args[0];
	}
	return exact;
}

static bool child_passes(void)
{
	return fork_generation == GENERATION_LEAST &&
	       scene_holds("wait 4; signal; gone 1; returned = 1; broadcast;"
			   "gone 4; zeros = 4");
}

STEP_IS(child, child_does(child_passes, "in the child"));

static const struct scene interrupts[] = {
	{ "interrupts of a group count nobody in or out, and return nobody",
	  "wait 4; interrupts 4 = 1; waiting = 4" },
};

/* To 0, which is also what zero bytes have. */
static const struct scene forks[] = {
	{ "no stale waiters when the generations of forks wrap",
	  "wait 4; child = 1; waiting = 4" },
};

int main(int argc, char **argv)
{
	args_parse(argc, argv, "");
	tap_plan(2);
	fake_futex_start((struct fake_futex){ 0 });
	scene_start("", "normal", false);
	scenes_test("wraps", interrupts, 1);
	fork_generation = UINT32_MAX;
	scene_start("", "normal", false);
	if (FORK_THREADS_WORK)
		scenes_test("wraps", forks, 1);
	else
		tap_skip("generations of forks", FORK_THREADS_SKIP);
	return tap_exit();
}
