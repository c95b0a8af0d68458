/* SPDX-License-Identifier: MIT */
/*
 * When to wake and when to move; Documentation/cond-design.rst says why. The
 * choice never affects correctness: every released thread runs, whatever was
 * planned.
 */
#ifndef DROVER_COND_POLICY_H
#define DROVER_COND_POLICY_H

#include "mutex/user_mutex.h"

/**
 * struct policy - what DROVER_POLICY says; drover(7)
 * @moves: bits that say when threads are moved. The bit for several threads has
 *	   the number of the enum mutex_holder; the bit for a single thread has
 *	   the number POLICY_ONE() of it. One more bit is POLICY_AHEAD.
 * @spin_us: how long a poll before sleeping lasts at most, in microseconds; -1:
 *	     as long as a wake-up takes
 */
struct policy {
	uint32_t moves;
	long spin_us;
};

/* The policy in force: struct policy::moves. */
extern _Atomic uint32_t policy_moves;

/* The number of the bit for a single thread, if @holder has the mutex. */
#define POLICY_ONE(holder) (8 + (holder))
/* If there are several CPUs, the first moved thread wakes more (WAKE_AHEAD). */
#define POLICY_AHEAD (1u << 31)

/*
 * Shall threads be moved to a mutex? If not, all of them are woken. @holder:
 * who has the mutex; @nr_waiters: how many threads shall be unblocked.
 *
 * A single thread is woken, even if the signaller holds the mutex. If the
 * thread were moved, the unlock would wake it a moment later, and both the
 * signal and the next unlock of the mutex would make one more system call. And
 * a thread that posts many items would be preempted at its unlock: each worker
 * would find the mutex free, take one item, and sleep again.
 */
#define policy_moves_to(holder, nr_waiters)                           \
	(load_relaxed(&policy_moves) >>                               \
		 ((nr_waiters) > 1 ? (holder) : POLICY_ONE(holder)) & \
	 1)

/*
 * Parse @forced, the value of DROVER_POLICY. Return: false if the value is not
 * understood; @to is then unchanged.
 */
bool policy_force(const char *forced, struct policy *to);
#define POLICY_HELP \
	"auto, requeue or wake-all, and perhaps spin=US after a comma"

#endif /* DROVER_COND_POLICY_H */
