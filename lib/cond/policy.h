/* SPDX-License-Identifier: MIT */
/*
 * When to wake and when to move; Documentation/cond-design.rst says why. The
 * choice never affects correctness: every released thread runs, whatever was
 * planned.
 */
#ifndef DROVER_COND_POLICY_H
#define DROVER_COND_POLICY_H

#include "mutex/user_mutex.h"

/*
 * By the rules other than POLICY_AUTO threads are only woken or moved. No thread
 * wakes others ahead (WAKE_AHEAD, wake.c), and none polls before it sleeps,
 * unless DROVER_POLICY also says for how long (spin=).
 */
enum policy_rule {
	POLICY_WAKE_ALL, /* no thread is moved */
	POLICY_AUTO,	 /* several threads are moved to a mutex in use */
	POLICY_REQUEUE,	 /* threads are moved where they can be */
};

/**
 * struct policy - what DROVER_POLICY says; drover(7)
 * @rule: when threads are moved
 * @spin_us: how long a poll before sleeping lasts at most, in microseconds; -1:
 *	     as long as a wake-up takes
 */
struct policy {
	enum policy_rule rule;
	long spin_us;
};

/* The rule in force, an enum policy_rule. */
extern _Atomic uint32_t policy_in_force;
#define policy_is(rule) (load_relaxed(&policy_in_force) == (rule))

/*
 * Shall threads be moved to a mutex? If not, all of them are woken. @holder:
 * who has the mutex; @nr_waiters: how many threads shall be unblocked.
 *
 * POLICY_AUTO wakes a single thread, even if the signaller holds the mutex. If
 * the thread were moved, the signaller's unlock would wake it a moment later, by
 * one more system call. The thread would then leave the mutex contended, and so
 * make another one at its own unlock. And a thread that posts many items would
 * be preempted at its unlock: each worker would find the mutex free, take one
 * item, and sleep again.
 */
#define policy_moves_to(holder, nr_waiters)                 \
	((nr_waiters) == 1 ?                                \
		 policy_is(POLICY_REQUEUE) &&               \
			 (holder) == MUTEX_HELD_BY_CALLER : \
		 policy_is(POLICY_REQUEUE) ||               \
			 (policy_is(POLICY_AUTO) && (holder) != MUTEX_FREE))

/*
 * Parse @text, the value of DROVER_POLICY. Return: false if the value is not
 * understood; @to is then unchanged.
 */
bool policy_parse(const char *text, struct policy *to);
#define POLICY_HELP \
	"auto, requeue or wake-all, and perhaps spin=US after a comma"

#endif /* DROVER_COND_POLICY_H */
