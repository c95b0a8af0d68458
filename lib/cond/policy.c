// SPDX-License-Identifier: MIT
/* The decision, and what is read once for it. */
#include <stdio.h>
#include <stdlib.h>

#include "base/poll.h"
#include "cond/policy.h"

/*
 * With several CPUs each moved thread costs the time until an idle CPU runs it.
 * So the first of them wakes a few more: about as many hand-offs between
 * running threads fit into one wake-up.
 */
#define WAKE_AHEAD 15

/* Threads that a constructor before ours has started may already wait. */
static _Atomic int base = POLICY_AUTO;
static _Atomic uint32_t nr_ahead;

__attribute__((constructor)) static void policy_choose(void)
{
	const char *forced = secure_getenv("DROVER_POLICY");
	enum policy_base chosen = POLICY_AUTO;
	int spin_us = -1;

	if (forced && !policy_force(forced, &chosen, &spin_us))
		fprintf(stderr,
			"drover: DROVER_POLICY=%s is unknown, using auto; it may be %s\n",
			forced, POLICY_HELP);
	if (spin_us >= 0)
		poll_limit((uint32_t)spin_us);
	if (chosen == POLICY_AUTO && poll_has_cpu())
		store_relaxed(&nr_ahead, WAKE_AHEAD);
	store_relaxed(&base, (int)chosen);
}

struct wake_plan policy_plan(enum mutex_holder holder, uint32_t nr_waiters)
{
	int now = load_relaxed(&base);
	struct wake_plan move = { .move = true,
				  .ahead = load_relaxed(&nr_ahead) };

	if (nr_waiters == 1)
		move.ahead = 0;
	if (now != POLICY_WAKE_ALL && holder == MUTEX_HELD_BY_CALLER)
		return move;
	/* A single thread is woken, whoever else has the mutex. */
	if (now == POLICY_WAKE_ALL || nr_waiters == 1 ||
	    (now == POLICY_AUTO && holder == MUTEX_FREE))
		return PLAN_WAKE_ALL;
	move.nr_wake = 1;
	return move;
}
