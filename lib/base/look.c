// SPDX-License-Identifier: MIT
/*
 * Waiting for a held mutex awake. Its holder may be nearly done, on another CPU,
 * or may have lost this one in the middle: then it gets it back. And where many
 * threads take turns, those that are still on their way keep the CPUs from going
 * idle: no turn has to wait until one has come back.
 */
#include <sched.h>

#include "base/clock.h"
#include "cond/plan.h"
#include "base/look.h"

static inline bool take_free(const futex_word *word,
			     bool (*try_lock)(void *mutex), void *mutex)
{
	return load_relaxed(word) == 0 && try_lock(mutex);
}

/* One look, of @ns nanoseconds; @now: when it begins, then when it ended. */
static inline bool look(const futex_word *word, bool (*try_lock)(void *mutex),
			void *mutex, int64_t ns, int64_t *now)
{
	int64_t end = *now + ns;

	do {
		for (int i = ns ? LOOKS_PER_CLOCK : 1; i; i--) {
			if (take_free(word, try_lock, mutex))
				return true;
			cpu_relax();
		}
		*now = clock_now();
	} while (*now < end);
	return false;
}

bool give_way(int64_t *now, int64_t longest)
{
	int64_t before = *now;
	bool soon;

	if (!policy_gives_way())
		return false;
	sched_yield();
	*now = clock_now();
	soon = *now - before <= longest;
	policy_gave_way(soon);
	return soon;
}

bool look_for_mutex(const futex_word *word, bool (*try_lock)(void *mutex),
		    void *mutex)
{
	int64_t now, ns = policy_look();
	unsigned int looks;
	bool got = false;

	/* Nothing is learned from a mutex that is free at once. */
	if (take_free(word, try_lock, mutex))
		return true;
	looks = policy_looks();
	if (!looks)
		return false;
	now = clock_now();
	while (looks-- && !got) {
		got = look(word, try_lock, mutex, ns, &now);
		if (!got && !give_way(&now, policy_longest_absence()))
			break;
	}
	got = got || take_free(word, try_lock, mutex);
	policy_looked(got);
	return got;
}
