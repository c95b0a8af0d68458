// SPDX-License-Identifier: MIT
/*
 * Waiting for a held mutex awake. Its holder may be nearly done, on another CPU,
 * or may have lost this one in the middle: then it gets it back. And where many
 * threads take turns, those that are still on their way keep the CPUs from going
 * idle: no turn has to wait until one has come back.
 */
#include <sched.h>

#include "clock.h"
#include "cond_plan.h"
#include "look.h"

/* Looks for each at the clock. */
#define LOOKS_PER_CLOCK 8

/* One look, of @ns nanoseconds; @now: when it begins, then when it ended. */
static inline bool look(const futex_word *word, bool (*try_lock)(void *mutex),
			void *mutex, int64_t ns, int64_t *now)
{
	int64_t end = *now + ns;

	do {
		for (int i = ns ? LOOKS_PER_CLOCK : 1; i; i--) {
			if (load_relaxed(word) == 0 && try_lock(mutex))
				return true;
			cpu_relax();
		}
		*now = clock_now();
	} while (*now < end);
	return false;
}

bool give_way(int64_t *now)
{
	int64_t before = *now;

	sched_yield();
	*now = clock_now();
	return *now - before <= policy_longest_absence();
}

bool look_for_mutex(const futex_word *word, bool (*try_lock)(void *mutex),
		    void *mutex)
{
	unsigned int looks = policy_looks();
	int64_t ns = policy_look(), now;

	if (!looks)
		return false;
	now = clock_now();
	while (looks--) {
		if (look(word, try_lock, mutex, ns, &now)) {
			policy_looked(true);
			return true;
		}
		if (!give_way(&now))
			break;
	}
	policy_looked(false);
	return false;
}
