/* SPDX-License-Identifier: MIT */
/*
 * When to wake and when to move. It never affects correctness: whatever is
 * planned, everybody who is released gets going.
 *
 * Moving pays when the mutex is held: a woken waiter would find it taken and
 * sleep a second time. If the caller itself holds it, nobody needs to be woken
 * at all: its unlock wakes the first. If the mutex is free, waking is cheaper:
 * each moved waiter costs one more FUTEX_WAKE, by the unlock of the one before
 * it. The measurements are in Documentation/benchmarks.rst.
 */
#ifndef DROVER_COND_POLICY_H
#define DROVER_COND_POLICY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

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

/**
 * policy_plan() - decide whether to wake or to move
 * @holder: who has the mutex
 * @nr_waiters: how many are to be unblocked
 */
struct wake_plan policy_plan(enum mutex_holder holder, uint32_t nr_waiters);

/* Said of what policy_force() does not understand. */
#define POLICY_HELP \
	"auto, requeue or wake-all, and perhaps spin=US after a comma"

enum policy_base {
	POLICY_AUTO,
	POLICY_REQUEUE,
	POLICY_WAKE_ALL,
};

/**
 * struct policy - what DROVER_POLICY can force
 * @base: whether to move: when it pays, always or never
 * @spin_us: how long a thread polls before it sleeps, in microseconds;
 *	     SPIN_MEASURED: as long as a wake-up takes
 */
struct policy {
	enum policy_base base;
	int32_t spin_us;
};

#define SPIN_MEASURED (-1)

/**
 * policy_force() - change a policy as DROVER_POLICY may ask; policy_words.c
 * @forced: the variable's value
 * @p: changed where that says so
 *
 * Return: false if it is not understood; nothing is changed then.
 */
bool policy_force(const char *forced, struct policy *p);

#endif /* DROVER_COND_POLICY_H */
