/* SPDX-License-Identifier: MIT */
/*
 * Condition variables of several processes: shared.c.
 *
 * All lies in the condvar, which is the only memory that the processes have in
 * common. There is no lock, as its holder could be killed, and no thread id, as
 * processes in different pid namespaces may use the same: each step is a single
 * atomic change of one word, after which the condvar is whole.
 *
 * There are two slots, each with one group of waiters. The older group gets the
 * signals, the younger one the arrivals. A slot's state is one 64-bit word:
 *
 *   bit  0	SLOT_RELEASING	a broadcast has released this group and any
 *				older one: whoever sees it renumbers both
 *   bits 1-18	tokens		signals that were posted and not yet taken
 *   bits 19-36	blocked		members that no signal was posted for
 *   bits 37-63	number		of the group. A member whose number has gone
 *				is released.
 *
 * Slot 0 has numbers 0, 1, 2..., and as many as slot 1 or one more: the groups
 * come in the order 0/0, 1/0, 0/1, 1/1, 0/2 (slot/number). Only the older group
 * is ever renumbered, and becomes the younger one by that: empty, with all its
 * members released.
 *
 * Legal transitions:
 *
 *   join	blocked + 1			of the younger, by the member
 *   post	blocked - 1, tokens + 1		of the older, by a signaller
 *   renumber	number + 1, the rest 0		of the older: by a signaller, if
 *						blocked is 1 (the signal is for
 *						that one) or 0 (used up); by
 *						anybody, if RELEASING is set
 *   broadcast	+ RELEASING			of the younger, by a broadcaster
 *   take	tokens - 1			by a member
 *   leave	blocked - 1, if no tokens	by a member
 *   end	blocked - 1, if blocked > 0	by a member whose thread ends
 *
 * Bounds. 2^18 - 1 members of a group; whoever comes then returns spuriously.
 * 2^24 waiters and 2^20 signallers at once, the killed ones included. A member
 * that is stopped while its slot gets exactly a multiple of 2^27 numbers takes a
 * later group for its own.
 */
#ifndef DROVER_COND_SHARED_H
#define DROVER_COND_SHARED_H

#include "base/thread.h"
#include "mutex/user_mutex.h"

struct cond;

#define SLOT_RELEASING UINT64_C(1)
#define SLOT_TOKEN     (UINT64_C(1) << 1)
#define SLOT_TOKENS    (((UINT64_C(1) << 18) - 1) * SLOT_TOKEN)
#define SLOT_BLOCKED   (UINT64_C(1) << 19)
#define SLOT_MEMBERS   (((UINT64_C(1) << 18) - 1) * SLOT_BLOCKED)
#define SLOT_NUMBER    (UINT64_C(1) << 37)
#define SLOT_NUMBERS   (~(SLOT_NUMBER - 1))

/* struct shared_cond::users */
#define USERS_WAITER	(UINT64_C(1))
#define USERS_WAITERS	(((UINT64_C(1) << 24) - 1) * USERS_WAITER)
#define USERS_WAKER	(UINT64_C(1) << 24)
#define USERS_WAKERS	(((UINT64_C(1) << 20) - 1) * USERS_WAKER)
#define USERS_DESTROYED (UINT64_C(1) << 44) /* destroy waits for them */
#define USERS_MOVED	(UINT64_C(1) << 45) /* to a mutex, once or more */
#define USERS_LIFE	(UINT64_C(1) << 46)
#define USERS_LIVES	(~(USERS_LIFE - 1))

/**
 * struct shared_cond - the inside of a condvar of several processes
 * @slot: their states
 * @word: what the members of each slot sleep on. Changed after each change of
 *	  the state that may end a sleep, and by each member before it sleeps.
 * @users: who will still touch the condvar: waiters, and signallers (and
 *	   broadcasters) that may not have woken yet whom they should; flags;
 *	   and a number that destroy changes, so that nobody who comes late
 *	   writes to what is no longer this condvar
 * @flags: struct cond's
 *
 * All zero bytes are a valid one.
 */
struct shared_cond {
	_Atomic uint64_t slot[2];
	futex_word word[2];
	_Atomic uint64_t users;
	uint32_t unused;
	_Atomic uint32_t flags;
};

void cond_shared_init(struct cond *c);
APART void cond_shared_destroy(struct cond *c);

/* Return: as cond_wait(), and ENOMEM, with @mutex held, if there is no room. */
APART int cond_shared_wait(struct cond *c, void *mutex,
			   const struct deadline *deadline);
/*
 * A signal, or a broadcast to @all. @target: NULL, or the word of a shared mutex,
 * three states, that @holder has: they may be moved there.
 */
APART void cond_shared_wake(struct cond *c, bool all, futex_word *target,
			    enum mutex_holder holder);

#endif /* DROVER_COND_SHARED_H */
