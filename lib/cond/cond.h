/* SPDX-License-Identifier: MIT */
/*
 * The condition variable inside. One implementation serves the native API
 * (native.c) and the drop-in (../pthread/); they differ in the mutex only,
 * which the core reaches through mutex/user_mutex.h.
 *
 * A condvar of one process keeps its waiters in groups (group.h): arrivals
 * join the open group; a signal goes to the closed, older one, and closes the
 * open one when there is none. So nobody who comes after a signal can take it.
 * (Waiters for requeue-PI may join the closed one: see cond_pin_closed().)
 *
 * Lock order: a condvar's lock, then its groups' claims, the closed one's
 * first; then a bucket of waiters; then a list of spares or of waiters. fork_lock
 * comes alone. No mutex of the user's is taken with any of them held. Where a
 * tag such as [G-REF] stands, memory-ordering.rst names the other side.
 *
 * After a signaller has dropped the condvar's lock it touches the condvar no
 * more: the threads it releases may destroy it, and then free it. A group is
 * nobody's; its memory is never freed. A struct waiter is its thread's own until
 * that ends, and others use it with the lock of its bucket (base/waiter.h).
 */
#ifndef DROVER_COND_H_INTERNAL
#define DROVER_COND_H_INTERNAL

#include "base/debug.h"
#include "base/fork.h"
#include "cond/group.h"
#include "cond/shared.h"

/* struct cond::flags; the first two are set by init. */
#define COND_SHARED    1u /* used by several processes */
#define COND_MONOTONIC 2u /* deadlines are on CLOCK_MONOTONIC */
#define COND_DESTROYED 4u /* destroy waits for foreign waiters */
#define COND_FOREIGN   8u /* added by each foreign waiter */
#define COND_KNOWN     0xffffu
#define COND_SPECIAL   (~COND_MONOTONIC) /* shared, or with foreign waiters */

/**
 * struct cond - a condition variable; all zero bytes are a valid one
 * @flags: COND_*
 * @generation: the fork_generation in which the members of a private one wait;
 *		0 before the first
 * @lock: guards the others
 * @open: the group that arrivals join, or NULL. It may have been recycled:
 *	  only group_pin() says.
 * @closed_low, @closed_high: the older group that signals go to, or NULL; same
 *			      as @open. The low half says by its lowest bits
 *			      which of both are there, and is 0 if none: read
 *			      without the lock to see that nobody waits.
 * @foreign_signals: each foreign waiter takes 2 of them, and is out
 * @shared: all of one that several processes use; shared.h
 *
 * A foreign waiter is in glibc's own wait, which it has called past the drop-in
 * (a library that was loaded with RTLD_DEEPBIND does). Up to glibc 2.40:
 *  - It writes to the fields foreign_*, adds to @flags, and takes @lock.word as
 *    a lock of three states, which it is.
 *  - It reads the first 8 bytes as its number, and believes that it was released
 *    if that is below @open: never, as @generation, their high half, is large.
 *  - So it sleeps until its deadline, or until a signal finds it in @flags
 *    (init.c).
 */
struct cond {
	union {
		struct {
			_Atomic uint32_t foreign_seq;
			_Atomic uint32_t generation;
			_Atomic(struct group *) open;
			_Atomic uint32_t foreign_refs;
			_Atomic uint32_t closed_low;
			_Atomic uint32_t foreign_size;
			struct lock lock;
			_Atomic uint32_t flags;
			_Atomic uint32_t foreign_signals;
			_Atomic uint32_t closed_high;
		};
		struct shared_cond shared;
	};
};

_Static_assert(sizeof(struct cond) <= 48, "fits glibc's pthread_cond_t");
_Static_assert(offsetof(struct cond, flags) == 36, "as glibc's __wrefs");
_Static_assert(offsetof(struct cond, shared.flags) == 36, "the same");
_Static_assert(offsetof(struct cond, lock.word) == 32, "as glibc's lock");
_Static_assert(offsetof(struct cond, foreign_signals) == 40, "__g_signals");

/* Bits of @closed_low. */
#define CLOSED_IS_THERE 1u
#define OPEN_IS_THERE	2u

/* Take the lock of a private condvar, in the state this process left it. */
void cond_lock(struct cond *c);

/* With the lock: the closed group; and set both. */
struct group *cond_closed(struct cond *c);
void cond_set_groups(struct cond *c, struct group *closed, struct group *open);

static inline bool cond_is_shared(struct cond *c)
{
	return load_relaxed(&c->flags) & COND_SHARED;
}

/* On which its deadlines are, if the caller names no other. */
static inline clockid_t cond_clock(struct cond *c)
{
	return load_relaxed(&c->flags) & COND_MONOTONIC ? CLOCK_MONOTONIC :
							  CLOCK_REALTIME;
}

/* The condvar that a caller has passed to this function. */
#define cond_of(cond) \
	debug_object(cond, struct cond, COND_KNOWN, "condition variable")

/* Start a condvar anew, at its first use and in the child of a fork. */
COLD void cond_drop_stale(struct cond *c);

/* The condvar's verbs; @deadline NULL waits without end. */
void cond_init(struct cond *c, clockid_t clock, bool shared);
/* @target: shared.h; @call: __func__ */
void cond_destroy(struct cond *c, futex_word *target, const char *call);
int cond_wait(struct cond *c, void *mutex, const struct deadline *deadline);
APART int cond_signal(struct cond *c);	  /* 0 */
APART int cond_broadcast(struct cond *c); /* 0 */
/* One of these, if anybody waits. */
int cond_unless_idle(struct cond *c, int (*verb)(struct cond *c));

/*
 * Signal, or broadcast to @all, if the condvar is shared; or wake all foreign
 * waiters, init.c. Return: false if others may wait there, too.
 */
APART bool cond_wake_special(struct cond *c, bool all);

/* Interrupt the wait of @thread, which may be cancelled; cancel.c */
void cond_interrupt(pthread_t thread);

/*
 * Requeue-PI, pi.c. cond_pi_wait(): sleep on a group's @word, 0: the caller has
 * the mutex. cond_pi_wake(): get members going.
 */
extern atomic_bool pi_refused; /* or no glibc; never cleared */
SLEEPS long cond_pi_wait(struct group *g, uint32_t word,
			 const struct deadline *deadline);
APART void cond_pi_wake(struct group *g, int nr);

#endif /* DROVER_COND_H_INTERNAL */
