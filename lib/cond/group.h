/* SPDX-License-Identifier: MIT */
/*
 * A group: threads that wait on one private condition variable and are
 * interchangeable to a signal, because all of them came before it.
 *
 * Members sleep on the group's own futex word, not on a word in the condvar.
 * All groups lie in memory that is never given back. So a thread that was
 * released has no further business with the condvar, which may be destroyed and
 * unmapped while members still sleep on the mutex to which they were moved. And
 * a group is not used again before everybody has left it. So one requeue from
 * its word moves only threads that are free to go, and needs no lock.
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
 * The arrows from below are pins, and @refs counts them: each member has one,
 * and so has a signaller, here S, from when it finds the group to the end of
 * its wake-up. The arrows from the condvar are no pins. S has posted a token,
 * which W1, W2 or W3 may take. Two of these three have no signal yet, so
 * blocked is 2. W4 to W6 have arrived after the signal that closed the older
 * group. A member keeps its pin until it sleeps neither on the word nor, having
 * been moved, on the mutex. The thread that drops the last pin frees the group:
 * group_unpin().
 *
 * The life of a group:
 *
 *   free	in the arena, or the spare one of a thread
 *   open	from its first member on: group_start()
 *   closed	by a signal that finds nobody blocked in an older group
 *   unlinked	by the last signal for the group, or by a broadcast, which also
 *		unlinks the open group: no condvar names the group any more
 *   released	all members may return: group_unblock()
 *   free	when its last pin is dropped. If all members time out, the last
 *		of them frees the group although the condvar still names it;
 *		group_pin() then refuses the group.
 *
 * The state is one 64-bit word. Its low half is the futex word:
 *
 *   bit  0	GROUP_RELEASED	every member that is still here may return; final
 *   bit  1	GROUP_MOVED	members may have been moved to the mutex: one
 *				that leaves has the duty "woken" (cond.h);
 *				never cleared
 *   bit  2	GROUP_NO_SLEEPERS
 *				no member sleeps on the word, members only poll
 *				it; a cleared bit is never set again
 *   bits 3-25	tokens		signals that were posted and not yet taken
 *   bits 26-31	cancels		cancellations of members, counted so that each
 *				changes the word; wraps
 *   bits 32-63	blocked		members that no signal was posted for
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
 *					by a member whose time ran out, that is
 *					cancelled, or that an error of the mutex
 *					ends, under @lock
 *   cancel	cancels + 1		by any thread, without lock or pin
 *   end	blocked - 1, if blocked > 0
 *					by a member whose thread ends in the
 *					wait, under @lock
 *
 * A signaller has @lock from when it sees that somebody is blocked until it has
 * posted or released. So no member leaves while the signaller chooses how to
 * wake, and therefore the mutex of the members still exists. The signal for the
 * last blocked member releases the group instead of posting.
 *
 * A member falls asleep only if the word has neither RELEASED nor tokens. Each
 * post and each release changes the word before it wakes or moves, so the
 * kernel's check of the value closes the race with a member that falls asleep.
 *
 * Bounds: 2^23 tokens (the kernel has no more threads). A member misses a
 * cancellation if it is delayed between its load of the word and its futex call
 * while an exact multiple of 64 cancellations hits its group; it notices at the
 * next event of the group.
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
 * @next_free: of a group in the arena; base/arena.c
 * @state: see above
 * @lock: held to post, to release and to leave
 * @refs: its pins. The thread that drops the last one frees the group.
 * @ahead: how many of the moved members the first one that runs wakes; set
 *	   under @lock
 * @owner: the condvar it belongs to; NULL when free. Changes only while @refs
 *	   is 0.
 * @mutex: the mutex that all members use; NULL if they use several, or if a
 *	   member still holds a recursive mutex while it sleeps. Written under
 *	   the condvar's lock.
 * @pi_target: where members sleep for requeue-PI, the word of their mutex; or
 *	       NULL if they sleep as plain waiters. Constant while in use.
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

/* How many members no signal was posted for. With @lock it cannot fall. */
#define group_blocked(g) group_nr_blocked(load_relaxed(&(g)->state))

/* Take the lock of a private condvar, in the state that this process left it. */
void cond_lock(struct cond *c);

/* With that lock: the closed group; and set both groups. */
struct group *cond_closed(struct cond *c);
void cond_set_groups(struct cond *c, struct group *closed, struct group *open);

/* Start a private condvar anew: at its first use, and in the child of a fork. */
COLD void cond_drop_stale(struct cond *c);

/*
 * Start a group of the locked @c with one member, the caller, who has its first
 * pin: the spare one of @w. @mutex, @pi_target: as in struct group. Return: NULL if
 * there is none.
 *
 * A thread keeps one group for its next wait; the others are in the arena. It gets
 * one with no lock held, for memory may have to be mapped.
 */
struct group *group_start(struct cond *c, struct waiter *w, void *mutex,
			  futex_word *pi_target);

/*
 * Pin @g, if it still belongs to @c, which is locked. @g may be NULL, or
 * recycled since @c named it.
 */
bool group_pin(struct group *g, struct cond *c);

/* Drop a pin; the group may be another condvar's at once. */
void group_unpin(struct group *g);

/*
 * Pin a group, as group_pin() does, and lock it if a member is blocked. Return:
 * NULL if none is, with neither pin nor lock. Otherwise the caller has both, and
 * has to call group_unblock(), which drops the lock and keeps the pin. Until
 * then no member can leave.
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
 * @state: the one last seen; updated
 */
bool group_take(struct group *g, uint64_t *state);

/*
 * Stop being a member, unless unblocked. Blocks while a signaller has the lock.
 * @ends: the caller's thread ends in the middle of the wait. If another member
 * is blocked, the caller leaves it the token, and wakes one member. Return:
 * false if the caller was unblocked, as after group_take().
 */
APART bool group_leave(struct group *g, bool ends);

#endif /* DROVER_GROUP_H */
