// SPDX-License-Identifier: GPL-2.0-only
/*
 * A debug build says what a caller does wrong with a barrier, and aborts: the
 * caller uses memory that is no barrier or a barrier that was destroyed, or it
 * destroys a barrier with waiting threads.
 */
#include "sandbox.h"
#include "steps.h"

#define NEVER "was never initialised, or is destroyed"

/* Volatile, so that the compiler does not see a null pointer. */
static void *volatile no_memory;

STEP_DO(at_null, at = no_memory);
STEP_DO(at_odd, at = (drover_barrier_t *)((char *)&barrier + 1));

static const struct {
	const char *text, *says;
} all[] = {
	{ "init 2; sleeper; destroy", "drover_barrier_destroy(): barrier" },
	{ "init 2; sleeper; destroy", "has threads waiting" },
	{ "init 3; sleeper; destroy", "has threads waiting" },
	{ "init 2; destroy; destroy", NEVER },
	{ "wait", "drover_barrier_wait(): barrier" },
	{ "wait", NEVER },
	{ "arrive 1 none", NEVER },
	{ "drop", NEVER },
	{ "count 2", NEVER },
	{ "at_null; wait", "is NULL" },
	{ "at_odd; wait", "is not aligned" },
};

int main(void)
{
	tap_plan(NR_OF(all));
	watchdog("bad input");
	for (int i = 0; i < NR_OF(all); i++)
		misuse_test(steps_do, all[i].text, all[i].says);
	return tap_exit();
}
