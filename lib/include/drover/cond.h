/* SPDX-License-Identifier: MIT */
/*
 * drover_cond_t: a condition variable whose broadcast moves the waiters to
 * the mutex, if that is held, instead of waking them all. drover_cond(3) has an
 * example.
 *
 * The following holds; Documentation/cond-design.rst says how:
 *  - A signal or broadcast chooses the threads that it unblocks in one atomic
 *    step. A thread that starts to wait later never takes a signal from one
 *    that waited before (POSIX.1-2024).
 *  - In normal operation there is no spurious return. There are two causes for
 *    one: the process has run out of memory, or 2^13 threads wait already on a
 *    condition variable that several processes share.
 *  - A signal or a broadcast makes no system call if no thread waits.
 *  - A condition variable may be destroyed, and its memory freed, as soon as
 *    all waiters have been unblocked, also while the mutex is still held.
 *
 * In all functions @cond is the condition variable, and @mutex is the mutex,
 * which a thread that calls a wait has locked exactly once. @attr may be NULL,
 * for the defaults.
 *
 * All functions return 0 or an errno value and leave errno alone. Apart from
 * short internal locks they block only where their descriptions say so. None
 * is a cancellation point.
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
 * returned, and whether or not the caller holds the mutex. If another thread
 * is still in a signal or broadcast, the call waits until that thread no
 * longer touches @cond, which takes a few instructions.
 *
 * If @cond is shared, the call blocks until the released waiters no longer use
 * it. A waiter of another process that still uses it after two seconds is
 * taken for dead. After drover_cond_broadcast_on() use
 * drover_cond_destroy_on().
 *
 * Return: 0.
 *
 * Tests: cond/destroy_at_once cond/one_preemption pthread/processes
 */
int drover_cond_destroy(drover_cond_t *cond);

/**
 * drover_cond_wait() - release @mutex and sleep until unblocked
 *
 * Blocks. For a thread that takes @mutex afterwards, the release of @mutex and
 * the start of the wait are one step. @mutex is held again when the call
 * returns. Threads that wait at the same time may use different mutexes if none
 * of these is PI or robust; a broadcast then wakes all of them.
 *
 * With a robust @mutex the call may return EOWNERDEAD or ENOTRECOVERABLE, as
 * drover_mutex_lock() does, whether or not the caller was unblocked.
 *
 * Return: 0; EPERM when the caller does not hold @mutex; EINVAL when other
 * threads wait with another mutex, and one of the two is PI or robust.
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
 * drover_cond_wait(); EINVAL when tv_nsec is not within 0 to 999,999,999: then
 * @mutex was not released.
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
 * @predicate: the condition to wait for; always evaluated with @mutex held
 * @arg: for @predicate
 *
 * Blocks, unless @predicate is true already. It is true when the call returns
 * 0, so the caller needs no loop. The thread that makes it true signals @cond
 * or broadcasts on it, as for any other wait.
 *
 * *Which thread evaluates.* A thread that signals or broadcasts with @mutex
 * held evaluates the waiters' predicates for them, oldest waiter first. It
 * unblocks those whose predicate is true; the others do not wake. It evaluates
 * at most 64 predicates. If these are false, it unblocks the next waiter, which
 * evaluates 64 more, and so on. A caller evaluates nothing if it does not hold
 * @mutex, or if it has got @mutex from a dead holder and not made it
 * consistent. It then unblocks one waiter. When that waiter has @mutex, it
 * evaluates for itself and for the others. An unblocked thread evaluates its
 * own predicate once more: if the predicate is false again, because another
 * thread was faster, the wait goes on.
 *
 * *What a predicate may do.* Other threads run it, in the middle of a signal or
 * a broadcast. It reads the data that @mutex guards, and @arg, and is short.
 * Its result must not depend on the thread that runs it (thread-local
 * variables, thread ids). It must not lock a mutex that any thread holds while
 * it signals. It must not unlock @mutex, wait, signal or broadcast. If it does
 * one of these, the behaviour is undefined, and the caller may wait for itself
 * for ever. It must not end the thread or jump out. A C++ exception leaves the
 * call in which it is thrown. That may be another thread's signal, which then
 * leaves other waiters blocked; drover.hpp throws the exception in the wait
 * instead.
 *
 * *Signal and broadcast.* A signal unblocks the first waiter whose predicate is
 * true. If there is none, the signal goes to the threads that wait without a
 * predicate. A thread that was unblocked by a signal hands it on in the same
 * way if it finds its predicate false, or if it ends in its wait. A broadcast
 * unblocks all threads that wait without a predicate, and all whose predicate
 * is true. The latter are unblocked one after the other, with a system call for
 * each: the next one when the one before it has come back, if its predicate is
 * still true then. This order, by age and not by priority, also holds for PI
 * mutexes.
 *
 * *When other threads cannot evaluate the predicate.* There are two such cases:
 * @cond is shared, as other processes cannot call this one's predicates; or
 * other threads already wait with predicates and with another mutex. The call
 * is then a loop around drover_cond_wait(), whose thread also wakes while its
 * predicate is false.
 *
 * *Destroying* @cond is legal when the predicates of all waiters are true and
 * the waiters have been told so by signals or a broadcast. If the caller of
 * drover_cond_destroy() holds @mutex, the waiters need not have returned; a
 * waiter whose predicate is false after all gets EINVAL. If that caller does
 * not hold @mutex, it blocks until they have returned.
 *
 * In the child of a fork there are no waiters, as always. Not a cancellation
 * point.
 *
 * Return: 0; EPERM when the caller does not hold @mutex, without evaluating;
 * EINVAL as drover_cond_wait(), and when @cond was destroyed; EOWNERDEAD and
 * ENOTRECOVERABLE of a robust @mutex, whether or not the predicate is true.
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
 * When the time has run out, the predicate is evaluated once more.
 *
 * Return: as drover_cond_await(): 0 if the predicate is true, even if the time
 * has run out; ETIMEDOUT if the predicate is false then, with no signal
 * consumed; EINVAL for another clock, or a tv_nsec outside 0 to 999,999,999,
 * without evaluating.
 *
 * Tests: cond/await stress/await
 */
int drover_cond_await_until(drover_cond_t *cond, drover_mutex_t *mutex,
			    bool (*predicate)(void *arg), void *arg,
			    clockid_t clock, const struct timespec *deadline);

/**
 * drover_cond_signal() - unblock one of the threads that wait on @cond
 *
 * One of those that started to wait first is chosen. It is woken, also if the
 * caller holds the mutex, unless DROVER_POLICY in drover(7) says that it is
 * moved. With a PI mutex the kernel chooses the thread of highest priority
 * among them. It hands the mutex to that thread, or moves the thread to the
 * mutex if that is held. Return: 0.
 *
 * Tests: cond/wakeup_rounds cond/broadcast_moves
 */
int drover_cond_signal(drover_cond_t *cond);

/**
 * drover_cond_broadcast() - unblock all threads that wait on @cond
 *
 * If several threads wait and the mutex is held, they are moved to the mutex.
 * Only if the caller does not hold the mutex, one of them is woken instead of
 * moved. The moves take one system call for each group of waiters (there are at
 * most two), or one for each 64 threads if the caller holds the mutex. If the
 * mutex is free, all threads are woken, and a single waiter is woken in any
 * case. DROVER_POLICY in drover(7) changes that, and so does a mutex to which
 * no thread can be moved. Return: 0.
 *
 * Tests: cond/broadcast_moves cond/polls attack/calls
 * Tests: cond/mutex_kinds cond/requeue_refused
 */
int drover_cond_broadcast(drover_cond_t *cond);

/**
 * drover_cond_broadcast_on() - drover_cond_broadcast(), naming the mutex
 * @mutex: the mutex that all waiters use, as this process sees it
 *
 * This differs from drover_cond_broadcast() for a shared condvar only. A
 * broadcaster in another process cannot know where the waiters' mutex is, and
 * wakes all waiters unless it is told. When it is told, one waiter is woken and
 * the rest move to @mutex, if @mutex is shared, not PI and not robust. If the
 * woken waiter is killed, the rest sleep until @mutex is contended. Return: 0.
 *
 * Tests: cond/mutex_kinds attack/shared_storm
 */
int drover_cond_broadcast_on(drover_cond_t *cond, drover_mutex_t *mutex);

/**
 * drover_cond_destroy_on() - drover_cond_destroy() after a broadcast_on
 * @mutex: the mutex to which the waiters may have been moved; may be held
 *
 * If waiters of a shared condvar were moved, the call wakes them, as it has to
 * wait until they no longer use the condvar. Return: 0.
 *
 * Tests: cond/mutex_kinds attack/shared_storm
 */
int drover_cond_destroy_on(drover_cond_t *cond, drover_mutex_t *mutex);

/**
 * drover_prepare_thread() - get the memory for the calling thread's waits
 *
 * The first wait of a thread may map memory, up to two pages. A thread that
 * must not do so in the middle of its work calls this function first. Later
 * waits map memory only when more threads wait than the process has ever got
 * memory for.
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
