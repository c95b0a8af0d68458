/* SPDX-License-Identifier: MIT */
/*
 * The condition variable inside. One implementation serves the native API
 * (native.c) and the drop-in (../pthread/); they differ in the mutex only,
 * which the core reaches through mutex/user_mutex.h.
 *
 * A condvar of one process keeps its waiters in groups (group.h): arrivals
 * join the open group; a signal goes to the closed, older one, and closes the
 * open one when there is none. So nobody who comes after a signal can take it.
 *
 * Lock order: a condvar's lock, then its groups' claims, the closed one's
 * first; then one of the innermost: of the spares, or a bucket of waiters. The
 * one under which stale waiters are dropped comes alone. No mutex of the user's
 * is taken with any of them held.
 *
 * After a signaller has dropped the condvar's lock it touches the condvar no
 * more: the threads it releases may free it.
 */
#ifndef DROVER_COND_H_INTERNAL
#define DROVER_COND_H_INTERNAL

#include "base/debug.h"
#include "cond/group.h"
#include "cond/shared.h"

/* struct cond::flags; set by init only. */
#define COND_SHARED    1u /* used by several processes */
#define COND_MONOTONIC 2u /* deadlines are on CLOCK_MONOTONIC */

/**
 * struct cond - a condition variable; all zero bytes are a valid one
 * @flags: COND_*; constant
 * @generation: the fork_generation in which the members of a private one wait
 * @lock: guards the others
 * @open: the group that arrivals join, or NULL. It may have been recycled:
 *	  only group_pin() says. Read without the lock to see that nobody
 *	  waits.
 * @closed: the older group that signals go to, or NULL; same as @open
 * @shared: all of one that several processes use; shared.h
 */
struct cond {
	uint32_t flags;
	_Atomic uint32_t generation;
	union {
		struct {
			struct lock lock;
			_Atomic(struct group *) open;
			_Atomic(struct group *) closed;
		};
		struct shared_cond shared;
	};
};

_Static_assert(sizeof(struct cond) <= 48, "fits glibc's pthread_cond_t");

/* The condvar that a caller has passed to the function @call. */
static inline struct cond *cond_checked(void *cond, const char *call)
{
	struct cond *c = cond;

	debug_pointer(c, _Alignof(struct cond), "condition variable", call);
	debug_flags(c, c->flags, COND_SHARED | COND_MONOTONIC,
		    "condition variable", call);
	return c;
}

COLD void cond_drop_stale(struct cond *c);

/* Take the lock of a private condvar, in the state this process left it. */
static inline void cond_lock(struct cond *c)
{
	/* [CV-FORK] Pairs with the release in cond_drop_stale(). */
	if (unlikely(load_acquire(&c->generation) != fork_generation))
		cond_drop_stale(c);
	lock_take(&c->lock);
}

/*
 * Is there nothing to do for a signal or broadcast? Asked without the lock.
 *
 * Who must be seen has released the user's mutex after joining, and a
 * signaller that has to see it has held that mutex since. Without the mutex
 * there is no order between them, and "not yet waiting" is a valid answer. So
 * this is not a store-buffering pair, and needs no full barrier.
 *
 * [CV-EMPTY] A signaller makes the open group the closed one: it sets @closed
 * and then clears @open, with release; here @open is read first, with acquire.
 * Otherwise both could be seen empty while the group is on its way.
 */
static inline bool cond_is_idle(struct cond *c)
{
	return likely(!(c->flags & COND_SHARED)) &&
	       likely(!load_acquire(&c->open)) &&
	       likely(!load_relaxed(&c->closed));
}

/* The condvar's verbs; @deadline NULL waits without end. */
void cond_init(struct cond *c, uint32_t flags);
void cond_destroy(struct cond *c, const char *call);
int cond_wait(struct cond *c, void *mutex, const struct deadline *deadline);
APART int cond_signal(struct cond *c);	  /* 0 */
APART int cond_broadcast(struct cond *c); /* 0 */

/* Make the thread @thread look for its cancellation, if it waits; cancel.c */
void cond_interrupt(pthread_t thread);

/* Note what the caller knows of cancellations from now on. */
void cond_note_interrupts(void);

/* Take all who wait in @g out of their system call; cancel.c */
void cond_interrupt_group(struct group *g);

/*
 * Requeue-PI, pi.c. cond_pi_works(): does the kernel have it? Asked once, for
 * the first mutex that inherits priorities. cond_pi_wait(): sleep on a group's
 * @word, 0: the caller has the mutex. cond_pi_wake(): get members going.
 */
bool cond_pi_works(void);
APART long cond_pi_wait(struct group *g, uint32_t word,
			const struct deadline *deadline);
APART void cond_pi_wake(struct group *g, int nr);

#endif /* DROVER_COND_H_INTERNAL */
