/* SPDX-License-Identifier: MIT */
/*
 * A group: threads that wait on one private condition variable and are
 * interchangeable to a signal, because no member can take a signal that is
 * older than its wait. A signal closes the group, and later arrivals join
 * another one. (A waiter for requeue-PI may join a closed group, but only while
 * no token is left in it: cond_pin_closed().)
 *
 * Members sleep on the group's own futex word, not on a word in the condvar.
 * All groups lie in memory that is never given back. So a released thread does
 * not use the condvar any more, and the condvar may be destroyed and unmapped
 * while members still sleep on the mutex to which they were moved. And a group
 * is not used again until all its members have left. So one requeue from its
 * word moves only threads that are free to go, and needs no lock.
 *
 *   struct cond             struct group              struct group
 *   +----------------+      +-----------------+       +-----------------+
 *   | closed ---------------> owner = cond    |       | owner = cond    |
 *   | open -------------.   | blocked = 2     |   .---> blocked = 3     |
 *   +----------------+  |   | tokens = 1      |   |   | tokens = 0      |
 *                       |   | refs = 4        |   |   | refs = 3        |
 *                       |   +-----------------+   |   +-----------------+
 *                       |     ^   ^   ^   ^       |     ^   ^   ^
 *                       `-----|---|---|---|-------'     |   |   |
 *                             |   |   |   |             |   |   |
 *                             W1  W2  W3  S             W4  W5  W6
 *
 * The arrows from below are pins, and @refs counts them: each member has one. A
 * signaller, here S, has one from the moment when it finds the group to the end
 * of its wake-up. The arrows from the condvar are no pins. S has posted a
 * token, which W1, W2 or W3 may take. Two of these three have no signal yet, so
 * blocked is 2. W4 to W6 have arrived after the signal that closed the older
 * group. A member keeps its pin as long as it sleeps on the word or, after a
 * move, on the mutex. The thread that drops the last pin frees the group:
 * group_unpin().
 *
 * The life of a group:
 *
 *   free	in the arena, or the spare one of a thread
 *   open	from its first member on: group_start()
 *   closed	by a signal that finds no member blocked in an older group
 *   unlinked	by the last signal for the group, or by a broadcast, which also
 *		unlinks the open group. No condvar names an unlinked group.
 *   released	all members may return: group_unblock()
 *   free	when its last pin is dropped. If all members time out, the last
 *		of them frees the group while the condvar still names it;
 *		group_pin() then refuses the group.
 *
 * The state is one 64-bit word. Its low half is the futex word:
 *
 *   bit  0	GROUP_RELEASED	every member still here may return; final
 *   bit  1	GROUP_MOVED	members may have been moved to the mutex: one
 *				that leaves has the duty "woken" (cond.h);
 *				never cleared
 *   bit  2	GROUP_NO_SLEEPERS
 *				no member sleeps on the word, members only poll
 *				it; a cleared bit is never set again
 *   bits 3-25	tokens		signals that were posted and not yet taken
 *   bits 26-31	cancels		cancellations of members, counted so that each
 *				changes the word; wraps
 *   bits 32-63	blocked		members for which no signal was posted
 *
 * Legal transitions, each of them one atomic step. group_start() begins with
 * one member blocked, and NO_SLEEPERS unless its members sleep for requeue-PI.
 *
 *   join	blocked + 1		by a member, under the condvar's lock
 *   fall asleep  clear NO_SLEEPERS	by a member, without a lock; or by a
 *					broadcaster that moves other sleepers
 *					to the word, under @lock
 *   post	blocked - 1, tokens + 1, perhaps set MOVED
 *					by a signaller, under @lock
 *   release	blocked = 0, tokens = 0, set RELEASED, perhaps set MOVED
 *					by a signaller, under @lock
 *   take	tokens - 1		by a member, without a lock
 *   leave	blocked - 1, if not RELEASED and no tokens
 *					by a member that times out, is
 *					cancelled, or gives up at an error of
 *					the mutex, under @lock
 *   cancel	cancels + 1		by any thread, without lock or pin
 *   end	blocked - 1, if blocked > 0
 *					by a member whose thread ends in the
 *					wait, under @lock
 *
 * A signaller has @lock from the moment when it sees a blocked member until it
 * has posted or released. So no member leaves while the signaller chooses how
 * to wake, and the mutex of the members still exists. The signal for the last
 * blocked member releases the group instead of posting.
 *
 * A member falls asleep only if the word has neither RELEASED nor tokens. Each
 * post and each release changes the word before it wakes or moves, so the
 * kernel's check of the value closes the race with a member that falls asleep.
 *
 * Bounds: 2^23 tokens (the kernel cannot have as many threads). A member misses
 * a cancellation if it is delayed between its load of the word and its futex
 * call while the number of cancellations in its group grows by an exact
 * multiple of 64. The member notices its cancellation at the next event of the
 * group.
 */
#ifndef DROVER_GROUP_H
#define DROVER_GROUP_H

#include "base/arena.h"
#include "base/waiter.h"
#include "cond/cond.h"
#include "mutex/user_mutex.h"

#define GROUP_RELEASED	  (UINT64_C(1) << 0)
#define GROUP_MOVED	  (UINT64_C(1) << 1)
#define GROUP_NO_SLEEPERS (UINT64_C(1) << 2)
#define GROUP_TOKEN	  (UINT64_C(1) << 3)
#define GROUP_TOKENS	  (((UINT64_C(1) << 23) - 1) * GROUP_TOKEN)
#define GROUP_CANCEL	  (UINT64_C(1) << 26)
#define GROUP_CANCELS	  (UINT64_C(63) * GROUP_CANCEL)
#define GROUP_BLOCKED	  (UINT64_C(1) << 32)

#define group_nr_blocked(state) ((uint32_t)((state) >> 32))

/**
 * struct group - one group of waiters
 * @next_free: the next one in the arena's list; base/arena.c
 * @state: see above
 * @lock: a thread holds it to post, to release or to leave
 * @refs: its pins. The thread that drops the last one frees the group.
 * @ahead: how many of the moved members are woken by the first one that runs;
 *	   set under @lock
 * @owner: the condvar that it belongs to; NULL while it is free. Changes only
 *	   while @refs is 0.
 * @mutex: the mutex that all members use; NULL if they use several, or if a
 *	   member still holds a recursive mutex while it sleeps. Written under
 *	   the condvar's lock.
 * @pi_target: the word of the members' mutex if they sleep for requeue-PI; NULL
 *	       if they sleep as plain waiters. Constant while the group is in
 *	       use.
 */
struct group {
	struct group *next_free;
	_Atomic uint64_t state;
	struct lock lock;
	_Atomic uint32_t refs;
	_Atomic uint32_t ahead;
	_Atomic(struct cond *) owner;
	_Atomic(void *) mutex;
	_Atomic(futex_word *) pi_target;
} __attribute__((aligned(ARENA_ITEM)));

/* The number of blocked members. It cannot fall while @lock is held. */
#define group_blocked(g) group_nr_blocked(load_relaxed(&(g)->state))

/*
 * Take the lock of a private condvar. In the child of a fork, first drop what
 * the parent has left in the condvar.
 */
void cond_lock(struct cond *c);

/* With that lock held: return the closed group; set both groups. */
struct group *cond_closed(struct cond *c);
void cond_set_groups(struct cond *c, struct group *closed, struct group *open);

/*
 * Set COND_DESTROYED, and wait until none of @left is in the flags of @c. The
 * thread that clears the last of them finds COND_DESTROYED, and wakes the caller.
 * The load in the loop acquires what glibc's own wait released with its change
 * of the flags. Awaiters change them with the lock of @c held, which the caller
 * takes afterwards.
 */
COLD void cond_await_flags(struct cond *c, uint32_t left);

/* Start a private condvar: at its first use, and in the child of a fork. */
COLD void cond_drop_stale(struct cond *c);

/*
 * Make the spare group of @w the open group of the locked @c. The caller is its
 * first member and has its first pin. @mutex, @pi_target: as in struct group.
 * Return: NULL if @w has no spare group.
 *
 * A thread keeps one spare group for its next wait; all other free groups are
 * in the arena. A thread without a spare group gets one from the arena before
 * it takes any lock, because the arena may have to map memory.
 */
struct group *group_start(struct cond *c, struct waiter *w, void *mutex,
			  futex_word *pi_target);

/*
 * Pin @g, if it still belongs to @c, which is locked. @g may be NULL, or
 * recycled since @c named it.
 */
bool group_pin(struct group *g, struct cond *c);

/* Drop a pin. Afterwards the group may belong to another condvar. */
void group_unpin(struct group *g);

/*
 * Pin a group, as group_pin() does, and lock it if a member is blocked. Return:
 * NULL if no member is blocked; the caller then has neither pin nor lock.
 * Otherwise the caller has both, and has to call group_unblock(), which drops
 * the lock and keeps the pin. Until then no member can leave.
 */
struct group *group_lock_blocked(struct group *g, struct cond *c);

/*
 * Post one token (@nr is 1), or release all members (INT_MAX) of a locked
 * group, and drop its lock. @moved: 0 or GROUP_MOVED. Return: the new futex
 * word.
 */
uint32_t group_unblock(struct group *g, int nr, uint64_t moved);

/*
 * Return: true if the caller, a member, is released, or has now taken a token.
 * @state: the state that the caller saw last; updated
 */
bool group_take(struct group *g, uint64_t *state);

/*
 * Stop being a member, unless the caller was unblocked. Blocks while a
 * signaller has the lock.
 * @ends: the caller's thread ends in the middle of the wait. If another member
 * is blocked, the caller leaves the token to that member, and wakes one member.
 * Return: false if the caller was unblocked, as after group_take().
 */
APART bool group_leave(struct group *g, bool ends);

#endif /* DROVER_GROUP_H */
