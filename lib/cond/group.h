/* SPDX-License-Identifier: MIT */
/*
 * A group: threads that wait on one condition variable of this process and
 * are interchangeable to a signal, because all came before it.
 *
 * Members sleep on the group's own futex word, not on one in the condvar. All
 * groups lie in memory that is never given back, so whoever was released has
 * no further business with the condvar: it may be destroyed and unmapped
 * while members still sleep on the mutex they were moved to. And a group is
 * not used again before everybody has left it, so one requeue on its word
 * moves none but who is free to go, without any lock held.
 *
 * Its life: spare; open, from its first member on; closed, by a signal that finds
 * nobody blocked in an older one; unlinked, by its last signal or a broadcast,
 * which takes an open one, too; released; and spare, when the last reference is
 * dropped: after timeouts alone while still linked.
 *
 * The state is one 64-bit word, and the low half is the futex word:
 *
 *   bit  0	GROUP_RELEASED	every member still here may return. Final.
 *   bit  1	GROUP_MOVED	members may have been moved to the mutex: who
 *				leaves must keep the mutex contended. Never
 *				cleared.
 *   bit  2	GROUP_AWAKE	nobody sleeps on the word: its members poll it.
 *				Once cleared, it stays so.
 *   bits 3-25	tokens		signals that were posted and not yet taken
 *   bits 26-31	interrupts	changed to interrupt members; wraps
 *   bits 32-63	blocked		members that no signal was posted for
 *
 * Legal transitions, each one atomic step:
 *
 *   join	blocked + 1			under the condvar's lock
 *   fall asleep	- AWAKE		by a member, or by a broadcaster that
 *					moves others to the word
 *   post	blocked - 1, tokens + 1 (+ MOVED)	under @claim
 *   release	blocked = 0, tokens = 0, + RELEASED (+ MOVED)
 *							under @claim
 *   take	tokens - 1		by a member
 *   time out	blocked - 1, if not RELEASED, no tokens
 *					by a member, under @claim
 *   interrupt	interrupts + 1		by anybody
 *   end	blocked - 1, if blocked > 0
 *					by a member whose thread ends in the
 *					wait, under @claim
 *
 * A signaller has the lock @claim from when it sees that somebody is blocked
 * until it has posted or released: so nobody times out while it chooses how, and
 * the mutex of the members exists.
 *
 * A member falls asleep only if the word has neither RELEASED nor tokens; each
 * post and release changes the word before it wakes or moves, so the kernel's
 * value check closes the race with falling asleep.
 *
 * Bounds: 2^23 tokens (the kernel has no more threads); an interrupt is missed
 * by a member that is delayed between its load of the word and its futex call
 * while an exact multiple of 64 interrupts hits its group: it is then noticed at
 * the next event of the group.
 */
#ifndef DROVER_GROUP_H
#define DROVER_GROUP_H

#include "base/spare.h"
#include "mutex/user_mutex.h"

struct cond;

#define GROUP_RELEASED	 (UINT64_C(1) << 0)
#define GROUP_MOVED	 (UINT64_C(1) << 1)
#define GROUP_AWAKE	 (UINT64_C(1) << 2)
#define GROUP_TOKEN	 (UINT64_C(1) << 3)
#define GROUP_TOKENS	 (((UINT64_C(1) << 23) - 1) * GROUP_TOKEN)
#define GROUP_INTERRUPT	 (UINT64_C(1) << 26)
#define GROUP_INTERRUPTS (UINT64_C(63) * GROUP_INTERRUPT)
#define GROUP_BLOCKED	 (UINT64_C(1) << 32)

#define group_nr_blocked(state) ((uint32_t)((state) >> 32))

/**
 * struct group - one group of waiters
 * @next_spare: of a group in nobody's use; base/free_list.h
 * @state: see above
 * @claim: who posts, releases or leaves has it
 * @refs: members, and signallers that are at work on it; whoever drops the
 *	  last one recycles the group
 * @ahead: how many of those moved to the mutex the first of them that runs
 *	   shall wake; set by the claimer
 * @owner: the condvar it belongs to; NULL when recycled. Changes only while
 *	   @refs is 0.
 * @mutex: the mutex that all members use, or NULL if they use several or one
 *	   of them sleeps as its holder; written under the condvar's lock
 * @pi_target: where members sleep for requeue-PI, the word of their mutex; or
 *	       NULL, when they sleep as plain waiters. Constant while in use.
 */
struct group {
	struct group *next_spare;
	_Atomic uint64_t state;
	struct lock claim;
	_Atomic uint32_t refs;
	_Atomic uint32_t ahead;
	_Atomic(struct cond *) owner;
	_Atomic(void *) mutex;
	_Atomic(futex_word *) pi_target;
} __attribute__((aligned(SPARE_BYTES)));

/* How many members no signal was posted for; with @claim it cannot fall. */
#define group_blocked(g) group_nr_blocked(load_relaxed(&(g)->state))

/*
 * Take a reference to @g, if it still belongs to @c, which is locked: @g may be
 * NULL, or recycled since @c named it.
 */
bool group_pin(struct group *g, struct cond *c);

/* Drop a reference; the group may be someone else's at once. */
void group_unpin(struct group *g);

/*
 * Pin a group, as group_pin(), and begin to release some of the members. Return:
 * NULL if no member is blocked. Otherwise none can leave before group_unblock(),
 * which has to follow.
 */
struct group *group_claim(struct group *g, struct cond *c);

/*
 * Post one token (@nr is 1), or release all members (INT_MAX) of a claimed
 * group. @moved: 0 or GROUP_MOVED. Return: the new futex word.
 */
uint32_t group_unblock(struct group *g, int nr, uint64_t moved);

/* Interrupt every member that sleeps with one of @bits; cancel.c */
COLD void group_interrupt(struct group *g, uint32_t bits);

#endif /* DROVER_GROUP_H */
