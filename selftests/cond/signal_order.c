// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread that begins to wait after a signal does not take it from those who
 * waited before (POSIX.1-2024; sourceware bug 13165).
 *
 * APIs: drover pthread
 */
#include "steps.h"

/* All who waited are held off; the signal that comes now is for one of them. */
static const struct scene scenes[] = {
	{ "a newcomer leaves the signal to two who waited",
	  "wait 2; off 0 1; signal; join; sleeps 2 = 1; on; gone 1;"
	  "returned = 1; sleeps 2 = 1" },
	/* There is no second to whom the signal might go. */
	{ "a newcomer leaves the signal to one who waited",
	  "wait; off 0 0; signal; join; sleeps 1 = 1; on; gone 1; returned = 1;"
	  "sleeps 1 = 1" },
	{ "three signals go to the three who waited first",
	  "wait 3; off 0 2; signal; wait; signal 2; on; gone 3; returned = 3;"
	  "sleeps 3 = 1" },
	/* What is remembered of the used-up must not let newcomers in. */
	{ "the same after a timeout has used up their elders",
	  "wait; timed; sleeps 1; signal; in_time; times_out 1; gone 2; wait 2;"
	  "off 2 3; signal; join; sleeps 4 = 1; on; gone 3; returned = 3;"
	  "sleeps 4 = 1" },
};

/*
 * Of those who wait with a mutex that inherits priorities the kernel chooses, so
 * a newcomer joins them; but not while one of them is on its way.
 */
static const struct scene with_pi[] = {
	{ "a newcomer leaves it the signal, PI",
	  "wait 2; lock; signal; time_out = ETIMEDOUT; unlock" },
};

static void test(const char *policy)
{
	scene_start(policy, "PI", false);
	scenes_test(policy, with_pi, 1);
	scene_start(policy, "normal", false);
	if (HANDLERS_ARE_PROMPT)
		scenes_test(policy, scenes, NR_OF(scenes));
	else
		tap_skip_all(NR_OF(scenes), policy, "handlers are late");
}

POLICY_MAIN(test)
