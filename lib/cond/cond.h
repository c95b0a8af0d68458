/* SPDX-License-Identifier: MIT */
/*
 * How a condition variable works inside. One implementation serves both the
 * native API (native.c) and the drop-in (../pthread/). The two differ only in
 * the mutex, which the implementation reaches through mutex/user_mutex.h.
 *
 * A condvar is of one of three kinds. The entry point of each operation finds
 * out which kind it has:
 *
 *   private	one process uses it; its waiters are kept in groups (group.h)
 *   shared	several processes use it (shared.h)
 *   foreign	a private one on which threads also wait in glibc's own wait,
 *		bypassing the drop-in (foreign.c)
 *
 * The files, from top to bottom. A file calls only the files below it:
 *
 *   native.c	drover_cond_*(); pthread/cond.c has pthread_cond_*()
 *   await.c	waits with a predicate, of the native API alone
 *   init.c	the entry points cond_init() and cond_destroy()
 *   wait.c	the entry point cond_wait(), and the wait in a group
 *   wake.c	the entry points cond_signal() and cond_broadcast(), and how
 *		they wake or move the members of a group
 *   cancel.c	cond_cancel(): makes a thread that waits look whether it has
 *		been cancelled
 *   foreign.c	the foreign waiters
 *   shared.c	the whole of a shared condvar
 *   pi.c	members that sleep for requeue-PI
 *   group.c	groups: where they come from, each change of their state, and
 *		where they are freed; also the lock and the two groups of a
 *		condvar
 *   load.c	DROVER_POLICY, when the library is loaded
 *   policy.h	when to wake and when to move
 *
 * A signal goes to the older, closed group of a private condvar. Arrivals join
 * the younger, open one. A signal that finds no closed group closes the open
 * one. So no thread that comes after a signal can take it. (A waiter for
 * requeue-PI may join the closed group, but only after all earlier signals have
 * been taken: cond_pin_closed().)
 *
 * Lock order: first the lock of a condvar; then the lock of an awaiter's own
 * condvar (await.c); then the locks of groups, the closed group's before the
 * open group's; then the lock of a bucket of waiters; then the lock of an arena
 * or of a list of waiters. wiped.lock is taken with no other lock held. A
 * thread holds none of these locks when it takes a mutex of the user's.
 *
 * Once a signaller has dropped the condvar's lock, it does not touch the
 * condvar any more: the threads that it releases may destroy the condvar and
 * free its memory. A group lies outside of all condvars, in memory that is
 * never unmapped. A struct waiter belongs to its thread until the thread ends.
 * Other threads use the struct only with the lock of its bucket
 * (base/waiter.h).
 *
 * A label such as [G-REF] marks an access that is one of an ordered pair.
 * memory-ordering.rst lists both accesses, and one of the two places in the
 * code has a drawing of the pair.
 *
 * The duty to wake the next thread on the mutex
 * ---------------------------------------------
 *
 * Threads sleep on a mutex because they came to lock it or because they were
 * moved there. They are woken one at a time. While any thread sleeps there,
 * some thread has the duty to wake the next one. If that duty is ever lost, the
 * rest sleep for ever. This table says which thread has the duty, and how the
 * thread hands the duty on. Comments elsewhere name the rows of the table.
 *
 *   duty	who has it, and when
 *		how it is handed on
 *   --------	----------------------------------------------------------------
 *   holder	The holder of the mutex, as long as the word is LOCK_CONTENDED.
 *		Its unlock wakes one thread, which becomes "woken".
 *
 *   (none)	A signaller that wakes all threads that it unblocks, and moves
 *		none. It makes no thread sleep on the mutex.
 *
 *   mover	A signaller that moves members, from their release to the end of
 *		the requeue.
 *		If it holds the mutex, plan_for() has marked the word contended,
 *		so it is the "holder". Otherwise the requeue itself wakes one
 *		thread, which becomes "woken". A kernel that can mark a mutex
 *		(DROVER_REQUEUE_MARK), and finds this one held, marks the word
 *		contended instead, which makes the holder of the mutex the
 *		"holder". If the requeue fails, unblock() wakes all members that
 *		it should have moved.
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
 *		Like "woken", it takes the mutex. member_ended() and
 *		shared_ended() take it for a thread that ends.
 *
 * The kernel has the duty for a mutex that inherits priorities: each unlock
 * hands the mutex over. A thread that receives the mutex without needing it
 * unlocks the mutex. A thread that wakes others ahead (member_relock()) takes
 * over no duty: every thread that sleeps on a mutex expects a wake-up at any
 * time.
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
#define COND_DESTROYED 4u	  /* destroy waits until threads leave */
#define COND_FOREIGN   8u	  /* each foreign waiter adds this */
#define COND_AWAITED   (1u << 31) /* threads wait on it with a predicate */
#define COND_KNOWN     (0xffffu | COND_AWAITED)
/* Shared, or with foreign waiters. */
#define COND_SPECIAL (~(COND_MONOTONIC | COND_DESTROYED | COND_AWAITED))

/**
 * struct cond - a condition variable; all zero bytes are a valid one
 * @flags: COND_*
 * @generation: the fork_generation() in which the lock and the groups of a
 *		private one are valid; 0 until its lock is first taken
 * @lock: guards the other fields of a private condvar
 * @open: the group that arrivals join, or NULL. The group may have been
 *	  recycled; only group_pin() tells.
 * @closed_low, @closed_high: the two halves of a pointer to the older group, to
 *			      which signals go, or of NULL. Like @open, the
 *			      group may have been recycled. Bits 0 and 1 of
 *			      @closed_low say whether the closed and the open
 *			      group exist. @closed_low is 0 if neither exists: a
 *			      signaller reads it without the lock to see that no
 *			      thread waits.
 * @foreign_signals: glibc's count of signals; each foreign waiter takes 2 of it
 *		     to be released
 * @await_low, @await_high: the two halves of a pointer to the first awaiter, or
 *			    of NULL (await.c). They take the place of fields for
 *			    foreign waiters, which the native API never has.
 * @shared: all fields of a condvar that several processes use; shared.h
 *
 * The places of the fields suit foreign waiters, which are in glibc's own wait.
 * Up to glibc 2.40 that wait does three things:
 *  - It writes to the fields foreign_*, adds to @flags, and uses @lock.word as
 *    a lock of three states. @lock.word is such a lock.
 *  - It takes the first 8 bytes as its sequence number, and returns if the
 *    number is below @open. It never is: the high half of the number,
 *    @generation, is large.
 *  - It therefore sleeps until its deadline, or until a signal finds it in
 *    @flags (foreign.c).
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

/* The clock of deadlines, unless the caller of a wait names another one. */
static inline clockid_t cond_clock(struct cond *c)
{
	return load_relaxed(&c->flags) & COND_MONOTONIC ? CLOCK_MONOTONIC :
							  CLOCK_REALTIME;
}

/* The condvar that the caller has passed to this function. */
#define cond_of(cond) \
	debug_object(cond, struct cond, COND_KNOWN, "condition variable")

/* init.c. @target: shared.h; @call: the __func__ of the caller */
void cond_init(struct cond *c, clockid_t clock, bool shared);
void cond_destroy(struct cond *c, futex_word *target, const char *call);

/*
 * wait.c. @deadline: NULL for a wait without end. Return: 0; ETIMEDOUT;
 * ECANCELED, if the caller was cancelled and has to act on it; or an error of
 * the mutex.
 */
int cond_wait(struct cond *c, void *mutex, const struct deadline *deadline);

/* wake.c. @target: shared.h. Return: 0 */
int cond_signal(struct cond *c);
int cond_broadcast(struct cond *c, futex_word *target);
/*
 * Signal a private condvar. @held: NULL; or, if only one thread waits on it, a
 * lock without which that thread cannot end the life of the condvar. The lock is
 * dropped when the thread is unblocked, before the thread is woken. Return: 0
 */
APART int signal_private(struct cond *c, struct lock *held);

/*
 * await.c, for the native API alone. cond_await() is drover_cond_await().
 * await_wake() sends a signal, or a broadcast to @all, to the threads that wait
 * with a predicate; the caller has found COND_AWAITED set. It returns true if
 * no other thread has to be woken. await_destroy() is called before
 * cond_destroy().
 */
int cond_await(struct cond *c, struct mutex *m, bool (*predicate)(void *arg),
	       void *arg, const struct deadline *deadline);
APART bool await_wake(struct cond *c, bool all);
void await_destroy(struct cond *c);

/* cancel.c. @thread has been cancelled. If it waits, it is made to look. */
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
 * have only foreign threads waited on the condvar?
 */
bool foreign_wake(struct cond *c);
COLD void foreign_destroy(struct cond *c);
bool foreign_alone(struct cond *c);

/*
 * pi.c. cond_pi_wait(): sleep for requeue-PI while the low half of the state is
 * @word. Return: 0 if the caller has been given the mutex; or a negative errno
 * value. cond_pi_wake(): hand the mutex to @nr members, 1 or INT_MAX, or queue
 * them on it.
 */
/* Requeue-PI is refused, or the C library is not glibc; never cleared. */
extern atomic_bool pi_refused;
SLEEPS long cond_pi_wait(struct group *g, uint32_t word,
			 const struct deadline *deadline);
APART void cond_pi_wake(struct group *g, int nr);

/* The caller, @w, has ended a wait for requeue-PI. */
SLEEPS void cond_pi_leave(struct waiter *w);

#endif /* DROVER_COND_H_INTERNAL */
