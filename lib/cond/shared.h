/* SPDX-License-Identifier: MIT */
/*
 * Condition variables of several processes: shared.c.
 *
 * All data lie in the condvar, which is the only memory that the processes have
 * in common. The condvar has no lock, because the holder of a lock could be
 * killed. It has no thread id, because processes in different pid namespaces
 * may use the same id. Each step is a single atomic change of one word, and the
 * condvar is consistent after each step.
 *
 * There are two groups of waiters. Signals go to the older group, arrivals join
 * the younger one. The state of both is one 64-bit word:
 *
 *   bits 0-12	young		members of the younger group
 *   bits 13-25	old		members of the older group for which no signal
 *				was posted
 *   bits 26-38	tokens		signals that were posted to it and not yet taken
 *   bits 39-63	number		the number of the older group. The younger group
 *				has the next number, and a member of a group
 *				with any other number is released.
 *
 * Legal transitions:
 *
 *   join	young + 1		by the member
 *   close	number + 1, old = young, the rest 0
 *					by a signaller, in one step with the
 *					post or release, if old is 0
 *   post	old - 1, tokens + 1	by a signaller, if old is more than 1
 *   release	as close		by a signaller, if old is 1: the signal
 *					is for this last member
 *   broadcast	number + 2, the rest 0	by a broadcaster
 *   take	tokens - 1		by a member of the older group
 *   leave	young - 1, or old - 1 if no tokens
 *					by a member of that group
 *   end	young - 1, or old - 1 if old > 0
 *					by a member of that group whose thread
 *					ends
 *
 * Bounds: a group has at most 2^13 - 1 members; a thread that comes to a full
 * group returns spuriously. There are at most 2^24 waiters and 2^20 wakers at
 * once, the killed ones included. A member that is stopped while the number
 * grows by an exact multiple of 2^25 mistakes a later group for its own. A
 * thread that was taken for dead and runs again mistakes another condvar in the
 * same memory for its own if both have the same life; there are 2^18 lives.
 */
#ifndef DROVER_COND_SHARED_H
#define DROVER_COND_SHARED_H

#include "base/waiter.h"
#include "mutex/user_mutex.h"

/* struct shared_cond::state */
#define SHARED_MOST    ((UINT64_C(1) << 13) - 1)
#define SHARED_YOUNG   (UINT64_C(1))
#define SHARED_YOUNGS  (SHARED_MOST * SHARED_YOUNG)
#define SHARED_OLD     (UINT64_C(1) << 13)
#define SHARED_OLDS    (SHARED_MOST * SHARED_OLD)
#define SHARED_TOKEN   (UINT64_C(1) << 26)
#define SHARED_TOKENS  (SHARED_MOST * SHARED_TOKEN)
#define SHARED_NUMBER  (UINT64_C(1) << 39)
#define SHARED_NUMBERS (~(SHARED_NUMBER - 1))
#define SHARED_BLOCKED (SHARED_YOUNGS | SHARED_OLDS)

/* struct shared_cond::users */
#define USERS_WAITER	(UINT64_C(1))
#define USERS_WAITERS	(((UINT64_C(1) << 24) - 1) * USERS_WAITER)
#define USERS_WAKER	(UINT64_C(1) << 24)
#define USERS_WAKERS	(((UINT64_C(1) << 20) - 1) * USERS_WAKER)
#define USERS_DESTROYED (UINT64_C(1) << 44) /* destroy waits for the users */
#define USERS_MOVED	(UINT64_C(1) << 45) /* members were moved to a mutex */
#define USERS_LIFE	(UINT64_C(1) << 46)
#define USERS_LIVES	(~(USERS_LIFE - 1))

/**
 * struct shared_cond - a condvar of several processes
 * @state: the state of both groups
 * @word: the futex word on which members sleep. Changed after each change of
 *	  the state that may end a sleep, and by each member before it sleeps.
 * @users: how many waiters will still touch the condvar; how many wakers, which
 *	   may still have sleepers to wake; flags; and the life of the condvar,
 *	   which destroy changes. A late thread, which destroy has taken for
 *	   dead, sees another life and writes nothing; but if it was stopped
 *	   just before word_change(), it adds 1 to @word.
 * @flags: struct cond's
 */
struct shared_cond {
	_Atomic uint64_t state;
	_Atomic uint64_t users;
	futex_word word;
	uint32_t unused[4];
	_Atomic uint32_t flags;
};

void shared_cond_init(struct shared_cond *s);

/*
 * @target: NULL, or the word to which members were moved: all there are woken.
 */
APART void shared_cond_destroy(struct shared_cond *s, futex_word *target);

/* Return: as cond_wait(); or ENOMEM, with @mutex held, if there is no room. */
APART int shared_cond_wait(struct shared_cond *s, void *mutex,
			   const struct deadline *deadline);

/*
 * A signal, or a broadcast to @all. @target: NULL, or the word of a shared
 * mutex of three states, to which members may be moved.
 */
APART void shared_cond_wake(struct shared_cond *s, bool all,
			    futex_word *target);

#endif /* DROVER_COND_SHARED_H */
