/* SPDX-License-Identifier: MIT */
/*
 * When to wake and when to move; Documentation/cond-design.rst says why. This
 * never affects correctness: whatever is planned, everybody who is released
 * gets going.
 */
#ifndef DROVER_COND_POLICY_H
#define DROVER_COND_POLICY_H

#include "mutex/user_mutex.h"

/**
 * struct wake_plan - what a release or a post does with the sleepers
 * @nr_wake: how many to wake before the rest is moved, 0 or 1
 * @move: move the rest to the mutex; if not, all are woken
 * @ahead: how many of the moved threads the first one that runs shall wake
 * @target: the futex word to move to; set by the user of the plan
 */
struct wake_plan {
	int nr_wake;
	bool move;
	uint32_t ahead;
	futex_word *target;
};

#define PLAN_WAKE_ALL ((struct wake_plan){ .move = false })

/* A plan by who has the mutex, for a single waiter and for several. */
struct policy {
	struct wake_plan plan[MUTEX_HELD_BY_OTHER + 1][2];
};

/* By enum policy_base; and the one that is in force. */
extern const struct policy policies[];
extern _Atomic(const struct policy *) policy;

/* @holder: who has the mutex; @nr_waiters: how many shall be unblocked */
#define policy_plan(holder, nr_waiters) \
	(load_relaxed(&policy)->plan[holder][(nr_waiters) > 1])

enum policy_base {
	POLICY_AUTO,	 /* move when it pays */
	POLICY_REQUEUE,	 /* always, of several */
	POLICY_WAKE_ALL, /* never */
	POLICY_AHEAD,	 /* as POLICY_AUTO, and wake ahead: with several CPUs */
};

/*
 * Parse @forced, the value of DROVER_POLICY; drover(7). @spin_us: how long a
 * poll before sleeping lasts at most, in microseconds; -1: as long as a wake-up
 * takes. Return: false if the value is not understood; nothing is changed then.
 */
bool policy_force(const char *forced, enum policy_base *to, int *spin_us);
#define POLICY_HELP \
	"auto, requeue or wake-all, and perhaps spin=US after a comma"

#endif /* DROVER_COND_POLICY_H */
