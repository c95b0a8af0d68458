// SPDX-License-Identifier: GPL-2.0-only
/*
 * A condvar may be destroyed, and its memory be unmapped, as soon as all its
 * waiters are unblocked, also while the mutex is still held. Test one_preemption
 * lets the thread that a signal has woken do so.
 *
 * APIs: drover pthread
 */
#include "steps.h"

#define MOST_WAITERS 10

static api_cond_t *mapped;

NUMBER(some, 0);

STEP(waiters)
{
	mapped = map_pages(sizeof(*mapped));
	api_cond_init(mapped);
	scene_add(args[0], &(struct member){ .cond = mapped }, true);
	return 0;
}

STEP(signals)
{
	for (int i = 0; i < args[0]; i++)
		api_cond_signal(mapped);
	return 0;
}

STEP_IS(broadcasts, api_cond_broadcast(mapped));

STEP(unmap)
{
	api_cond_destroy(mapped);
	return munmap(mapped, sizeof(*mapped));
}

static const struct scene scenes[] = {
	{ "signals, mutex free",
	  "waiters some; signals some; unmap; gone some; zeros = some" },
	{ "signals, mutex held",
	  "waiters some; lock; signals some; unmap; unlock; gone some;"
	  "zeros = some" },
	{ "a broadcast, mutex free",
	  "waiters some; broadcasts; unmap; gone some; zeros = some" },
	{ "a broadcast, mutex held",
	  "waiters some; lock; broadcasts; unmap; unlock; gone some;"
	  "zeros = some" },
};

static void test(const char *policy)
{
	scene_start(policy, "normal", false);
	for (int i = 0; i < NR_OF(scenes); i++) {
		bool all = true;

		for (int round = 0; round < guest_share(25); round++) {
			word_some.value = 1 + round % MOST_WAITERS;
			all &= scene_holds(scenes[i].steps);
		}
		tap_ok(all, "%s: destroyed after %s: all return 0", policy,
		       scenes[i].name);
	}
}

POLICY_MAIN(test)
