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
 * struct policy - what DROVER_POLICY says; drover(7)
 * @moves: to which mutexes threads are moved, by who has the mutex: bits, of
 *	   which each enum mutex_holder is the number of one, and POLICY_ONE() of
 *	   it where a single thread is; and POLICY_AHEAD
 * @spin_us: how long a poll before sleeping lasts at most, in microseconds; -1:
 *	     as long as a wake-up takes
 */
struct policy {
	uint32_t moves;
	long spin_us;
};

/* The one in force: struct policy::moves. */
extern _Atomic uint32_t policy_moves;

/* The number of the bit for a single thread, if @holder has the mutex. */
#define POLICY_ONE(holder) (8 + (holder))
/* Several that are moved wake ahead, if there are several CPUs. */
#define POLICY_AHEAD (1u << 31)

/*
 * Shall threads be moved to a mutex? If not, all of them are woken. @holder: who
 * has it; @nr_waiters: how many shall be unblocked.
 *
 * A single one is woken, also by the holder. A moved thread would be woken at
 * the unlock, a moment later, at the price of one more system call each for the
 * signal and for the mutex's next unlock. And the unlock of a thread that posts
 * many items would be where it is preempted: each worker finds the mutex free,
 * takes one item, and sleeps again.
 */
#define policy_moves_to(holder, nr_waiters)                           \
	(load_relaxed(&policy_moves) >>                               \
		 ((nr_waiters) > 1 ? (holder) : POLICY_ONE(holder)) & \
	 1)

/*
 * Parse @forced, the value of DROVER_POLICY. Return: false if the value is not
 * understood; nothing is changed then.
 */
bool policy_force(const char *forced, struct policy *to);
#define POLICY_HELP \
	"auto, requeue or wake-all, and perhaps spin=US after a comma"

#endif /* DROVER_COND_POLICY_H */
