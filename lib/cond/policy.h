/* SPDX-License-Identifier: MIT */
/*
 * When to wake and when to move; Documentation/cond-design.rst says why. It never
 * affects correctness: whatever is planned, everybody who is released gets going.
 */
#ifndef DROVER_COND_POLICY_H
#define DROVER_COND_POLICY_H

#include "mutex/user_mutex.h"

/**
 * struct wake_plan - what a release or post does with the sleepers
 * @nr_wake: how many to wake (INT_MAX: all)
 * @move: move the rest to the mutex
 * @ahead: how many of those the first one that runs shall wake
 * @target: the futex word to move to; set by the caller of policy_plan()
 */
struct wake_plan {
	int nr_wake;
	bool move;
	uint32_t ahead;
	futex_word *target;
};

#define PLAN_WAKE_ALL ((struct wake_plan){ .nr_wake = INT_MAX })

/* For @nr_waiters that are to be unblocked. @holder: of their mutex */
struct wake_plan policy_plan(enum mutex_holder holder, uint32_t nr_waiters);

enum policy_base {
	POLICY_AUTO,	 /* move when it pays */
	POLICY_REQUEUE,	 /* always, of several */
	POLICY_WAKE_ALL, /* never */
};

/*
 * What @forced, the value of DROVER_POLICY, says. @spin_us: how long a poll before
 * sleeping lasts at most, in microseconds; -1: as long as a wake-up takes. Return:
 * false if it is not understood; nothing is changed then.
 */
bool policy_force(const char *forced, enum policy_base *to, int *spin_us);
#define POLICY_HELP \
	"auto, requeue or wake-all, and perhaps spin=US after a comma"

#endif /* DROVER_COND_POLICY_H */
