/* SPDX-License-Identifier: MIT */
/*
 * The condition variable inside. One implementation serves the native API
 * (native.c) and the drop-in (../pthread/). They differ only in the mutex,
 * which the implementation reaches through mutex/user_mutex.h.
 *
 * A condvar is of one of three kinds. Each verb asks at its door of which:
 *
 *   private	one process uses it; its waiters are kept in groups (group.h)
 *   shared	several processes use it (shared.h)
 *   foreign	it is private, and threads also wait on it in glibc's own wait,
 *		past the drop-in (foreign.c)
 *
 * The files, from the top. A file calls only files below it:
 *
 *   native.c	drover_cond_*(); pthread/cond.c has pthread_cond_*()
 *   await.c	waits with a predicate, of the native API alone
 *   init.c	the doors cond_init() and cond_destroy()
 *   wait.c	the door cond_wait(), and the wait in a group
 *   wake.c	the doors cond_signal() and cond_broadcast(), and how they wake
 *		or move the members of a group
 *   cancel.c	cond_cancel(): a thread that waits shall look at its
 *		cancellation
 *   foreign.c	the foreign waiters
 *   shared.c	the whole of a shared condvar
 *   pi.c	members that sleep for requeue-PI
 *   group.c	groups: where they come from, each change of their state, and
 *		where they are freed; and the lock and the groups of a condvar
 *   load.c	DROVER_POLICY, when the library is loaded
 *   policy.c	when to wake and when to move
 *
 * A signal goes to the older, closed group of a private condvar. Arrivals join
 * the younger, open one. A signal that finds no closed group closes the open
 * one. So no thread that comes after a signal can take it. (Waiters for
 * requeue-PI may join the closed group: see cond_pin_closed().)
 *
 * Lock order: a condvar's lock; then that of the own condvar of a thread that
 * waits on it with a predicate; then the locks of groups, the closed
 * group's first; then the lock of a bucket of waiters; then that of an arena or
 * of a list of waiters. wiped.lock is taken with no other lock held. None of
 * these locks is held when a mutex of the user's is taken.
 *
 * A signaller that has dropped the condvar's lock touches the condvar no more:
 * the threads that it releases may destroy it and free its memory. A group lies
 * outside of all condvars, in memory that is never unmapped. A struct waiter
 * belongs to its thread until the thread ends. Other threads use it with the
 * lock of its bucket (base/waiter.h).
 *
 * Where a label such as [G-REF] stands, memory-ordering.rst has the pair, and
 * the code that a reader meets first has a drawing of it.
 *
 * The duty to wake the next thread on the mutex
 * ---------------------------------------------
 *
 * Threads sleep on a mutex because they came to lock it or because they were
 * moved there. They are woken one at a time. While any thread sleeps there,
 * some thread has the duty to wake the next one. If that duty is ever lost, the
 * rest sleep for ever. This is the table of who has it, and of how it is handed
 * on; comments elsewhere name its rows.
 *
 *   duty	who has it, and when
 *		how it is handed on
 *   --------	----------------------------------------------------------------
 *   holder	The holder of the mutex, as long as the word is LOCK_CONTENDED.
 *		Its unlock wakes one thread, which becomes "woken".
 *
 *   (none)	A signaller that wakes all that it unblocks, and moves nobody.
 *		Nobody sleeps on the mutex because of it.
 *
 *   mover	A signaller that moves members, from their release to the end of
 *		the requeue.
 *		If it holds the mutex, plan_for() has marked the word contended,
 *		so it is the "holder". Otherwise the requeue itself wakes one
 *		thread, which becomes "woken"; or, if the kernel can and finds
 *		the mutex held, marks the word contended: that makes whoever
 *		holds it the "holder" (DROVER_REQUEUE_MARK). If the requeue
 *		fails, unblock() wakes all members that it should have moved.
 *
 *   behind	A broadcaster that has moved the sleepers of the younger group
 *		to the word of the older group.
 *		Its release of the older group, which follows, moves or wakes
 *		every sleeper on that word: release_both(). Until then its pin
 *		on the older group also keeps that group for the sleepers of
 *		the younger one.
 *
 *   woken	A thread that was woken on the mutex, or that may have been:
 *		GROUP_MOVED, or USERS_MOVED of a shared condvar.
 *		It takes the mutex, leaves it contended, and so becomes the
 *		"holder": user_mutex_lock() with @moved, or member_relock()
 *		after a poll.
 *
 *   unneeded	A member that was woken on the mutex, and finds that another
 *		member has taken its token.
 *		It wakes one thread on the mutex, which becomes "woken", and
 *		then sleeps again: member_woken_for_nothing().
 *
 *   left	A member that stops waiting (its time ran out, it is cancelled,
 *		or its thread ends) in a group of which members were moved.
 *		As "woken": it takes the mutex, too. member_ended() and
 *		shared_ended() do so for a thread that ends.
 *
 * The kernel has the duty for a mutex that inherits priorities: each unlock
 * hands the mutex over. A thread that is given the mutex and does not need it
 * unlocks it. A thread that wakes others ahead (member_relock()) takes over no
 * duty: a wake-up on a mutex may come to any thread at any time.
 */
#ifndef DROVER_COND_H_INTERNAL
#define DROVER_COND_H_INTERNAL

#include "base/debug.h"
#include "base/lock.h"
#include "cond/shared.h"

struct group;
struct mutex;

/* struct cond::flags; the first two are set by init. */
#define COND_SHARED    1u	  /* several processes use it */
#define COND_MONOTONIC 2u	  /* deadlines are on CLOCK_MONOTONIC */
#define COND_DESTROYED 4u	  /* destroy waits for foreign waiters */
#define COND_FOREIGN   8u	  /* each foreign waiter adds as much */
#define COND_AWAITED   (1u << 31) /* threads wait on it with a predicate */
#define COND_KNOWN     (0xffffu | COND_AWAITED)
/* Shared, or with foreign waiters. */
#define COND_SPECIAL (~(COND_MONOTONIC | COND_AWAITED))

/**
 * struct cond - a condition variable; all zero bytes are a valid one
 * @flags: COND_*
 * @generation: the fork_generation() in which the members of a private one wait;
 *		0 before the first of them
 * @lock: guards the other fields of a private one
 * @open: the group that arrivals join, or NULL. The group may have been
 *	  recycled; only group_pin() tells.
 * @closed_low, @closed_high: the two halves of a pointer to the older group,
 *			      which signals go to, or of NULL. Like @open, the
 *			      group may have been recycled. Bits 0 and 1 of
 *			      @closed_low say whether the closed and the open
 *			      group exist. @closed_low is 0 if neither exists:
 *			      a signaller reads it without the lock to see that
 *			      nobody waits.
 * @foreign_signals: each foreign waiter takes 2 of them to be released
 * @await_low, @await_high: the two halves of a pointer to the first of those who
 *			    wait with a predicate, or of NULL (await.c). They
 *			    take the place of fields of foreign waiters, which
 *			    the native API never has.
 * @shared: all of a condvar that several processes use; shared.h
 *
 * The fields are placed for foreign waiters, who are in glibc's own wait. Up to
 * glibc 2.40 that wait does three things:
 *  - It writes to the fields foreign_*, adds to @flags, and uses @lock.word as
 *    a lock of three states. @lock.word is such a lock.
 *  - It takes the first 8 bytes as its sequence number, and returns if the
 *    number is below @open. The number never is: its high half, @generation,
 *    is large.
 *  - So it sleeps until its deadline, or until a signal finds it in @flags
 *    (foreign.c).
 */
struct cond {
	union {
		struct {
			_Atomic uint32_t foreign_seq;
			_Atomic uint32_t generation;
			_Atomic(struct group *) open;
			union {
				_Atomic uint32_t foreign_refs;
				_Atomic uint32_t await_low;
			};
			_Atomic uint32_t closed_low;
			union {
				_Atomic uint32_t foreign_size;
				_Atomic uint32_t await_high;
			};
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

/* The clock of its deadlines, if the caller of a wait names no other. */
static inline clockid_t cond_clock(struct cond *c)
{
	return load_relaxed(&c->flags) & COND_MONOTONIC ? CLOCK_MONOTONIC :
							  CLOCK_REALTIME;
}

/* The condvar that a caller has passed to this function. */
#define cond_of(cond) \
	debug_object(cond, struct cond, COND_KNOWN, "condition variable")

/* init.c. @target: shared.h; @call: the __func__ of the caller */
void cond_init(struct cond *c, clockid_t clock, bool shared);
void cond_destroy(struct cond *c, futex_word *target, const char *call);

/*
 * wait.c. @deadline: NULL for a wait without end. Return: 0; ETIMEDOUT;
 * ECANCELED, if a cancellation shall act; or an error of the mutex.
 */
int cond_wait(struct cond *c, void *mutex, const struct deadline *deadline);

/* wake.c. @target: shared.h. Return: 0 */
int cond_signal(struct cond *c);
int cond_broadcast(struct cond *c, futex_word *target);
/* The same signal; it looks with the lock whether anybody waits. */
APART int signal_slow(struct cond *c);

/*
 * await.c, of the native API alone: drover_cond_await(); a signal, or a broadcast
 * to @all, for those who wait with a predicate, with COND_AWAITED set; and what
 * comes before cond_destroy(). await_wake() returns true if that was all.
 */
int cond_await(struct cond *c, struct mutex *m, bool (*predicate)(void *arg),
	       void *arg, const struct deadline *deadline);
APART bool await_wake(struct cond *c, bool all);
void await_destroy(struct cond *c);

/* cancel.c. @thread has been cancelled: if it waits, it shall look. */
void cond_cancel(pthread_t thread);
/*
 * Wake the members whose struct waiter::bit is in @bits: each looks whether it
 * has been cancelled.
 */
COLD void group_cancel(struct group *g, uint32_t bits);

/*
 * foreign.c. foreign_wake(): release all foreign waiters. Return: true if
 * threads may wait in groups, too, which the caller then has to wake.
 * foreign_destroy(): wait until no foreign waiter is left. foreign_alone():
 * have foreign threads alone waited on the condvar?
 */
bool foreign_wake(struct cond *c);
COLD void foreign_destroy(struct cond *c);
bool foreign_alone(struct cond *c);

/*
 * pi.c. cond_pi_wait(): sleep for requeue-PI while the low half of the state is
 * @word. Return: 0 if the caller has been given the mutex; or a negative errno
 * value. cond_pi_wake(): get @nr members going, 1 or INT_MAX.
 */
/* Requeue-PI is refused, or the C library is not glibc; never cleared. */
extern atomic_bool pi_refused;
SLEEPS long cond_pi_wait(struct group *g, uint32_t word,
			 const struct deadline *deadline);
APART void cond_pi_wake(struct group *g, int nr);

/* @w is the caller, whose wait with requeue-PI has ended. */
SLEEPS void cond_pi_leave(struct waiter *w);

#endif /* DROVER_COND_H_INTERNAL */
