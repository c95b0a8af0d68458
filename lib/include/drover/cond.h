/* SPDX-License-Identifier: MIT */
/*
 * drover_cond_t: a condition variable whose broadcast moves the waiters to
 * the mutex, if that is held, instead of waking them all. drover_cond(3) has an
 * example.
 *
 * What holds (Documentation/cond-design.rst says how):
 *  - A signal or broadcast chooses whom it unblocks in one atomic step; a
 *    thread that starts to wait later never takes a signal from one that
 *    waited before (POSIX.1-2024).
 *  - In normal operation there is no spurious return. Only running out of
 *    memory can cause one, and a shared one on which 2^13 threads wait.
 *  - With nobody waiting, signal and broadcast make no system call.
 *  - A condition variable may be destroyed, and its memory freed, as soon as
 *    all waiters have been unblocked, also while the mutex is still held.
 *
 * In all functions @cond is the condition variable, and @mutex one that the
 * thread that is to wait holds, once; @attr may be NULL, for the defaults.
 *
 * All functions return 0 or an errno value, leave errno alone, and block only
 * where they say so, but for short internal locks. None is a cancellation
 * point.
 *
 * Tests: cond/wakeup_rounds cond/no_memory cond/timed_wait
 * Tests: attack/calls cond/destroy_at_once
 */
#ifndef DROVER_COND_H
#define DROVER_COND_H

#include <stdbool.h>

#include <drover/mutex.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/**
 * drover_cond_t - a condition variable; the content is private to the library
 *
 * All zero bytes are a valid condition variable with no waiters, deadlines on
 * CLOCK_REALTIME, private to the process.
 */
typedef union {
	char size[48];
	uint64_t align;
} drover_cond_t;

/* drover_condattr_t.flags */
#define DROVER_COND_SHARED 0x1u /* lies in memory several processes share */

/**
 * drover_condattr_t - condition variable attributes
 * @flags: DROVER_COND_*
 * @clock: of drover_cond_timedwait(): CLOCK_REALTIME (0) or CLOCK_MONOTONIC
 * @reserved: zero
 *
 * All zero bytes are the defaults.
 */
typedef struct {
	uint32_t flags;
	clockid_t clock;
	uint32_t reserved[2];
} drover_condattr_t;

/* clang-format off */
#ifdef __cplusplus
#define DROVER_COND_INITIALIZER {}
#else
#define DROVER_COND_INITIALIZER { { 0 } }
#endif
/* clang-format on */

/**
 * drover_cond_init() - make @cond a condition variable without waiters
 *
 * Return: 0, or EINVAL for an unknown flag or clock.
 *
 * Tests: cond/mutex_kinds
 */
int drover_cond_init(drover_cond_t *cond, const drover_condattr_t *attr);

/**
 * drover_cond_destroy() - end the life of @cond
 *
 * Legal as soon as every waiter has been unblocked, whether or not it has
 * returned, and whether or not the caller holds the mutex. A signal or
 * broadcast still under way in another thread is waited for, for the few
 * instructions in which it touches @cond.
 *
 * For a shared condvar it blocks until the released waiters have got away from
 * it; those of other processes that do not in two seconds it takes for dead.
 * After drover_cond_broadcast_on() use drover_cond_destroy_on().
 *
 * Return: 0.
 *
 * Tests: cond/destroy_at_once cond/one_preemption pthread/processes
 */
int drover_cond_destroy(drover_cond_t *cond);

/**
 * drover_cond_wait() - release @mutex and sleep until unblocked
 *
 * Blocks. Releasing @mutex and starting to wait are one step to any thread
 * that takes @mutex afterwards. @mutex is held again when the call returns.
 * Threads that wait at the same time may use different mutexes, none of them PI
 * or robust; a broadcast then wakes all of them.
 *
 * A robust @mutex may come back with EOWNERDEAD or ENOTRECOVERABLE, as from
 * drover_mutex_lock(), whether or not the caller was unblocked.
 *
 * Return: 0; EPERM when the caller does not hold @mutex; EINVAL when others
 * wait with another mutex, and one of the two is PI or robust.
 *
 * Tests: cond/one_preemption cond/wakeup_rounds cond/mutex_kinds
 * Tests: pthread/mutex_kinds
 */
int drover_cond_wait(drover_cond_t *cond, drover_mutex_t *mutex);

/**
 * drover_cond_timedwait() - drover_cond_wait() with a deadline
 * @deadline: absolute time on the condvar's clock, CLOCK_REALTIME by default
 *
 * A thread that was unblocked returns 0, even if its time has run out since.
 *
 * Return: 0; ETIMEDOUT, with @mutex held and no signal consumed; EPERM as for
 * drover_cond_wait(); EINVAL when tv_nsec is not within 0 to 999,999,999, with
 * @mutex not released in between.
 *
 * Tests: cond/timed_wait attack/worst_moment cond/one_preemption
 */
int drover_cond_timedwait(drover_cond_t *cond, drover_mutex_t *mutex,
			  const struct timespec *deadline);

/**
 * drover_cond_clockwait() - drover_cond_timedwait() on a clock of choice
 * @clock: CLOCK_REALTIME or CLOCK_MONOTONIC
 * @deadline: absolute time on @clock
 *
 * Return: as drover_cond_timedwait(), and EINVAL for any other clock.
 *
 * Tests: cond/timed_wait
 */
int drover_cond_clockwait(drover_cond_t *cond, drover_mutex_t *mutex,
			  clockid_t clock, const struct timespec *deadline);

/**
 * drover_cond_await() - wait until a predicate is true
 * @predicate: what is waited for; always evaluated with @mutex held
 * @arg: for @predicate
 *
 * Blocks, unless @predicate is true already. It is true when the call returns 0:
 * no loop is needed. The thread that makes it true signals @cond or broadcasts
 * on it, as for any other wait.
 *
 * *Who evaluates.* A thread that signals or broadcasts with @mutex held
 * evaluates the predicates of the waiters for them, oldest first, and unblocks
 * those for whom it is true; the others do not wake. It evaluates 64 at most:
 * if these are false it unblocks the next waiter, which evaluates 64 more, and
 * so on. A caller that does not hold @mutex, or has got it from a dead holder
 * and not made it consistent, evaluates nothing. It unblocks one waiter, which
 * evaluates, for itself and the others, when it has @mutex. An unblocked thread
 * evaluates once more itself: if the predicate is false again, because another
 * thread was faster, it waits on.
 *
 * *What a predicate may do.* Other threads run it, inside of a signal or a
 * broadcast. It reads what @mutex guards, and @arg, and is short. It must not
 * depend on the thread that runs it (thread-local variables, thread ids), nor
 * lock a mutex that is ever held around a signal, nor unlock @mutex, wait,
 * signal or broadcast: the caller would wait for itself for ever, or what it
 * does is undefined. It must not end the thread or jump out. An exception of
 * C++ leaves the call in which it is thrown, which may be another thread's
 * signal, and others are then not unblocked; drover.hpp throws it in the wait.
 *
 * *Signal and broadcast.* A signal unblocks the first of the waiters whose
 * predicate is true. If there is none, it goes to those who wait without a
 * predicate. A thread that was unblocked by a signal and finds its predicate
 * false, or ends in its wait, hands the signal on in the same way. A broadcast
 * unblocks all whose predicate is true, each when the one before it has come
 * back and the predicate is still true then, with a system call for each; and
 * all who wait without one. With PI mutexes the order is the same: by age, not
 * by priority.
 *
 * *Where nobody evaluates for the caller*: @cond is shared, whose other
 * processes cannot call its predicate, or others wait with a predicate and
 * another mutex. Then the call is a loop around drover_cond_wait(), with its
 * returns in vain.
 *
 * *Destroying* @cond is legal when the predicates of all waiters are true and
 * they have been told. If the caller holds @mutex they need not have returned;
 * one whose predicate is false all the same gets EINVAL. If it does not hold
 * @mutex, drover_cond_destroy() blocks until they have returned.
 *
 * In the child of a fork nobody waits, as always. Not a cancellation point.
 *
 * Return: 0; EPERM when the caller does not hold @mutex, without evaluating;
 * EINVAL as drover_cond_wait(), and when @cond was destroyed; EOWNERDEAD and
 * ENOTRECOVERABLE of a robust @mutex, whatever the predicate is.
 *
 * Tests: cond/await cond/cxx stress/await
 */
int drover_cond_await(drover_cond_t *cond, drover_mutex_t *mutex,
		      bool (*predicate)(void *arg), void *arg);

/**
 * drover_cond_await_until() - drover_cond_await() with a deadline
 * @clock: CLOCK_REALTIME or CLOCK_MONOTONIC
 * @deadline: absolute time on @clock
 *
 * The predicate is evaluated once more when the time has run out.
 *
 * Return: as drover_cond_await(): 0 if the predicate is true, even if the time
 * has run out; ETIMEDOUT if it is false then, with no signal consumed; EINVAL
 * for another clock, or a tv_nsec outside 0 to 999,999,999, without evaluating.
 *
 * Tests: cond/await stress/await
 */
int drover_cond_await_until(drover_cond_t *cond, drover_mutex_t *mutex,
			    bool (*predicate)(void *arg), void *arg,
			    clockid_t clock, const struct timespec *deadline);

/**
 * drover_cond_signal() - unblock one of the threads that wait on @cond
 *
 * One of those that started to wait first is chosen. If the caller holds the
 * mutex, it is moved to it, and wakes when that is unlocked. Return: 0.
 *
 * Tests: cond/wakeup_rounds cond/broadcast_moves
 */
int drover_cond_signal(drover_cond_t *cond);

/**
 * drover_cond_broadcast() - unblock all threads that wait on @cond
 *
 * If the mutex is held, at most one thread is woken, and none if the caller
 * holds it; the rest are moved to the mutex, with one system call for each
 * group of waiters (there are at most two), or for each 64 of them if the
 * caller holds it. If it is free all are woken. DROVER_POLICY in drover(7)
 * changes that, and so does a mutex to which nobody can be moved. Return: 0.
 *
 * Tests: cond/broadcast_moves cond/polls attack/calls
 * Tests: cond/mutex_kinds cond/requeue_refused
 */
int drover_cond_broadcast(drover_cond_t *cond);

/**
 * drover_cond_broadcast_on() - drover_cond_broadcast(), naming the mutex
 * @mutex: the mutex that all waiters use, as this process sees it
 *
 * Makes a difference for a shared condvar only: a broadcaster in another
 * process cannot know where the waiters' mutex is, and wakes all, unless told.
 * Then one is woken, and the rest move to @mutex, if it is shared, not PI and
 * not robust. If that one is killed, they sleep until the mutex is contended.
 * Return: 0.
 *
 * Tests: cond/mutex_kinds attack/shared_storm
 */
int drover_cond_broadcast_on(drover_cond_t *cond, drover_mutex_t *mutex);

/**
 * drover_cond_destroy_on() - drover_cond_destroy() after a broadcast_on
 * @mutex: the mutex its waiters may have been moved to; may be held
 *
 * Moved waiters of a shared condvar are woken, to let them get away from it.
 * Return: 0.
 *
 * Tests: cond/mutex_kinds attack/shared_storm
 */
int drover_cond_destroy_on(drover_cond_t *cond, drover_mutex_t *mutex);

/**
 * drover_prepare_thread() - get what the calling thread's waits need
 *
 * The first wait of a thread may map memory, up to two pages. A thread that
 * must not do so in the middle of its work calls this before. Later waits map
 * memory only when more threads wait than the process has ever got memory for.
 *
 * Return: 0, or ENOMEM.
 *
 * Tests: cond/no_memory
 */
int drover_prepare_thread(void);

/**
 * drover_version() - the version of the library that is loaded
 *
 * Return: a string such as "0.1.0", never NULL, never to be freed.
 *
 * Tests: cond/no_memory
 */
const char *drover_version(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DROVER_COND_H */
