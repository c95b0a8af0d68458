/* SPDX-License-Identifier: MIT */
/*
 * drover_cond_t: a condition variable whose broadcast moves several waiters to
 * the mutex, if the mutex is held, instead of waking all of them.
 * drover_cond(3) has an example.
 *
 * The library guarantees the following (how: Documentation/cond-design.rst):
 *  - A signal or broadcast determines, in one atomic step, which threads it
 *    unblocks. A thread that starts to wait after that step never takes the
 *    signal from a thread that waited before (POSIX.1-2024).
 *  - In normal operation no wait returns spuriously. A spurious return is
 *    possible in two cases only: if the process has run out of memory, and if
 *    2^13 - 1 threads or more already wait on a condition variable that several
 *    processes share.
 *  - A signal or a broadcast makes no system call if no thread waits.
 *  - A condition variable may be destroyed, and its memory freed, as soon as
 *    all waiters have been unblocked: see drover_cond_destroy().
 *  - In the child of a fork a private condition variable has no waiters.
 *
 * In all functions @cond is the condition variable, and @mutex is the mutex. A
 * thread must have locked @mutex exactly once when it calls a wait. @attr may
 * be NULL, for the defaults.
 *
 * All functions except drover_version() return 0 or an errno value, and all
 * leave errno alone. The waits block; apart from them and from short internal
 * locks, functions block only where their descriptions say so. None of them is
 * a cancellation point.
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
 * A drover_cond_t of which all bytes are zero is a valid condition variable. It
 * has no waiters, its deadlines are on CLOCK_REALTIME, and it is private to the
 * process.
 */
typedef union {
	char size[48];
	uint64_t align;
	uint32_t words[12];
} drover_cond_t;

/* drover_condattr_t.flags */
#define DROVER_COND_SHARED 0x1u /* several processes use it: "shared" below */

/**
 * drover_condattr_t - condition variable attributes
 * @flags: DROVER_COND_*
 * @clock: the clock of the deadlines of drover_cond_timedwait():
 *	   CLOCK_REALTIME (0) or CLOCK_MONOTONIC
 * @reserved: zero
 *
 * If all bytes are zero, the attributes are the defaults.
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
 * The call is legal as soon as every waiter has been unblocked, whether or not
 * the waiter has returned, and whether or not the caller holds the mutex. If
 * another thread is still in a signal or broadcast, the call waits until that
 * thread no longer touches @cond, which takes a few instructions.
 *
 * Threads may still be in drover_cond_await() or drover_cond_await_until(). The
 * call is then legal if the predicates of all these threads are true, and a
 * broadcast, or a signal for each thread, has told them so. The broadcast need
 * not have reached all of the threads yet. If the caller holds the mutex, the
 * call does not wait for these threads; if another thread makes a predicate
 * false again before its waiter has the mutex, the waiter gets EINVAL. If the
 * caller does not hold the mutex, the call blocks until these threads have
 * returned.
 *
 * If @cond is shared, the call blocks until the unblocked threads no longer use
 * @cond. If all of these threads belong to other processes, and for two seconds
 * none of them finishes with @cond, the call assumes that they are dead, and
 * returns. After drover_cond_broadcast_on(), drover_cond_destroy_on() has to be
 * called instead.
 *
 * Return: 0.
 *
 * Tests: cond/destroy_at_once cond/one_preemption pthread/processes
 */
int drover_cond_destroy(drover_cond_t *cond);

/**
 * drover_cond_wait() - release @mutex and sleep until unblocked
 *
 * The call blocks. To any thread that locks @mutex afterwards, the release of
 * @mutex and the start of the wait are one step. When the call returns, the
 * caller holds @mutex again, except after EPERM and ENOTRECOVERABLE. Threads
 * that wait at the same time may use different mutexes if none of these mutexes
 * is PI or robust; a broadcast may then wake all of the threads.
 *
 * Return: 0; EPERM when the caller does not hold @mutex; EINVAL when other
 * threads wait with another mutex, and one of the two mutexes is PI or robust
 * (@mutex was not released). With a robust @mutex also EOWNERDEAD and
 * ENOTRECOVERABLE, as drover_mutex_lock(); these two do not tell whether the
 * caller was unblocked.
 *
 * Tests: cond/one_preemption cond/wakeup_rounds cond/mutex_kinds
 * Tests: pthread/mutex_kinds
 */
int drover_cond_wait(drover_cond_t *cond, drover_mutex_t *mutex);

/**
 * drover_cond_timedwait() - drover_cond_wait() with a deadline
 * @deadline: absolute time on the clock of @cond, CLOCK_REALTIME by default
 *
 * The call returns 0 if the caller was unblocked, even if @deadline has passed
 * since.
 *
 * Return: 0; ETIMEDOUT, with @mutex held and no signal consumed; EINVAL when
 * tv_nsec is not within 0 to 999,999,999 (@mutex was not released); EPERM,
 * EINVAL, EOWNERDEAD and ENOTRECOVERABLE as drover_cond_wait().
 *
 * Tests: cond/timed_wait attack/worst_moment cond/one_preemption
 */
int drover_cond_timedwait(drover_cond_t *cond, drover_mutex_t *mutex,
			  const struct timespec *deadline);

/**
 * drover_cond_clockwait() - drover_cond_timedwait() on a given clock
 * @clock: CLOCK_REALTIME or CLOCK_MONOTONIC
 * @deadline: absolute time on @clock
 *
 * Return: as drover_cond_timedwait(); also EINVAL for any other clock (@mutex
 * was not released).
 *
 * Tests: cond/timed_wait
 */
int drover_cond_clockwait(drover_cond_t *cond, drover_mutex_t *mutex,
			  clockid_t clock, const struct timespec *deadline);

/**
 * drover_cond_await() - wait until a predicate is true
 * @predicate: the condition to wait for; always evaluated with @mutex held
 * @arg: the argument of @predicate
 *
 * The call blocks, unless @predicate is true already. When the call returns 0,
 * @predicate is true, so the caller needs no loop. The thread that makes
 * @predicate true has to signal @cond or broadcast on it, as for any other
 * wait.
 *
 * *Which thread evaluates.* A thread that signals or broadcasts with @mutex
 * held evaluates the waiters' predicates for them, oldest waiter first. Waiters
 * whose predicate it finds false do not wake. One call evaluates at most 64
 * predicates. If all of these are false, the call unblocks the next waiter,
 * whatever the predicate of this waiter is. The unblocked waiter evaluates 64
 * more, and so on. A caller that does not hold @mutex evaluates nothing, and
 * only unblocks one waiter; that waiter evaluates for itself and for the others
 * as soon as it has @mutex. The same holds for a caller that has got @mutex
 * from a dead holder and has not made @mutex consistent. An unblocked thread
 * evaluates its own predicate once more. If the predicate is false again,
 * because another thread was faster, the wait goes on.
 *
 * *What a predicate may do.* Other threads run the predicate, in the middle of
 * a signal or a broadcast. So the predicate should be short. It may read @arg
 * and the data that @mutex guards. Its result must not depend on the thread
 * that runs it (thread-local variables, thread ids). The predicate must not
 * lock any mutex that a thread may hold while that thread signals or
 * broadcasts. Nor may the predicate unlock @mutex, wait, signal, broadcast, end
 * the thread or jump out. If it does one of these, the behaviour is undefined,
 * and the thread that evaluates may deadlock with itself. If the predicate
 * throws a C++ exception, the exception propagates out of the call that
 * evaluates the predicate. That call may be another thread's signal, and other
 * waiters then stay blocked. The class drover::condition_variable of drover.hpp
 * throws the exception in the waiting thread instead.
 *
 * *Signal and broadcast.* A signal unblocks the first waiter whose predicate is
 * true. If no predicate is true, the signal unblocks one thread that waits
 * without a predicate. A thread that a signal has unblocked hands the signal on
 * in the same way if the thread finds its predicate false, or if it is
 * terminated in its wait (by pthread_exit() in a signal handler). A broadcast
 * unblocks all threads that wait without a predicate. Of the threads that wait
 * with a predicate, the broadcasting thread unblocks one, or two if there are
 * several CPUs. Each of these threads, when it has come back from its wait,
 * unblocks the next one whose predicate is true at that time. This takes one
 * system call for each thread. Threads that wait with a predicate are unblocked
 * by age and not by priority, also with a PI mutex.
 *
 * *When other threads cannot evaluate the predicate.* There are two such cases:
 * @cond is shared (another process cannot call this process's predicates), or
 * other threads already wait with predicates, but with another mutex. The call
 * is then a loop around drover_cond_wait(), so its thread may wake although its
 * predicate is false.
 *
 * Return: 0; EPERM when the caller does not hold @mutex (nothing was
 * evaluated); EINVAL as drover_cond_wait(), and when @cond was destroyed while
 * the predicate was false; EOWNERDEAD and ENOTRECOVERABLE as
 * drover_cond_wait(), whether or not the predicate is true.
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
 * When @deadline has passed, the call evaluates the predicate once more.
 *
 * Return: as drover_cond_await(), so 0 if the predicate is true, even if
 * @deadline has passed; also ETIMEDOUT if @deadline has passed and the
 * predicate is false, with @mutex held and no signal consumed; EINVAL for
 * another clock, or when tv_nsec is not within 0 to 999,999,999 (nothing was
 * evaluated).
 *
 * Tests: cond/await stress/await
 */
int drover_cond_await_until(drover_cond_t *cond, drover_mutex_t *mutex,
			    bool (*predicate)(void *arg), void *arg,
			    clockid_t clock, const struct timespec *deadline);

/**
 * drover_cond_signal() - unblock one of the threads that wait on @cond
 *
 * Waiters are in two groups. Threads that start to wait join the younger group,
 * and a signal unblocks a thread of the older group. If all threads of the
 * older group have been unblocked, the signal first makes the younger group the
 * older one. Within a group no order is promised. The chosen thread is woken,
 * also if the caller holds the mutex, unless DROVER_POLICY in drover(7) says
 * that it is moved to the mutex.
 *
 * With a PI mutex the kernel chooses the thread of highest priority in the
 * older group. It hands the mutex to this thread if the mutex is free, and
 * moves the thread to the mutex if the mutex is held. With a PI mutex there is
 * also an exception to the rule above: if there is no younger group, and each
 * earlier signal has reached its thread, a thread that starts to wait joins the
 * older group.
 *
 * If threads wait with a predicate, drover_cond_await() says which of them is
 * unblocked.
 *
 * Return: 0.
 *
 * Tests: cond/wakeup_rounds cond/broadcast_moves
 */
int drover_cond_signal(drover_cond_t *cond);

/**
 * drover_cond_broadcast() - unblock all threads that wait on @cond
 *
 * If several threads wait and the caller holds the mutex, the threads are moved
 * to the mutex. If another thread holds the mutex, one of the threads is woken,
 * and the others are moved. If the mutex is free, all of the threads are woken.
 * A single waiter is woken, whether or not the mutex is held. DROVER_POLICY in
 * drover(7) changes these rules. All threads are woken if they wait with
 * several mutexes, or if their mutex or @cond is shared (but see
 * drover_cond_broadcast_on()), or if the kernel does not move threads. With a
 * PI mutex all threads are moved; if the mutex is free, the kernel hands it to
 * the thread of highest priority.
 *
 * If the caller holds the mutex, one system call moves up to 64 threads.
 * Otherwise one system call moves all threads of a group (see
 * drover_cond_signal()); but if both groups have threads, those of the younger
 * group are moved with one call for each 64.
 *
 * If threads wait with a predicate, drover_cond_await() says in which order
 * they are unblocked.
 *
 * Return: 0.
 *
 * Tests: cond/broadcast_moves cond/polls attack/calls
 * Tests: cond/mutex_kinds cond/requeue_refused
 */
int drover_cond_broadcast(drover_cond_t *cond);

/**
 * drover_cond_broadcast_on() - drover_cond_broadcast(), with the waiters' mutex
 * @mutex: the mutex that all waiters use, at its address in this process
 *
 * The call differs from drover_cond_broadcast() only if @cond is shared: the
 * library then needs @mutex, because it cannot find out at which address the
 * caller's process sees the waiters' mutex. If @mutex is held and shared, and
 * neither PI nor robust, the call wakes one waiter and moves the rest to
 * @mutex. The woken waiter marks @mutex contended, so that the next unlock
 * wakes another waiter. If the woken waiter is killed before it has marked
 * @mutex, the rest stay asleep until some other thread finds @mutex held, and
 * therefore marks it contended.
 *
 * Return: 0.
 *
 * Tests: cond/mutex_kinds attack/shared_storm
 */
int drover_cond_broadcast_on(drover_cond_t *cond, drover_mutex_t *mutex);

/**
 * drover_cond_destroy_on() - end the life of @cond after a move to @mutex
 * @mutex: the mutex to which the waiters may have been moved; it may be held
 *
 * The call works as drover_cond_destroy() does. It is for a condition variable
 * on which drover_cond_broadcast_on() has been called. If @cond is shared and
 * waiters were moved, the call first wakes these waiters, because it then has
 * to wait for them.
 *
 * Return: 0.
 *
 * Tests: cond/mutex_kinds attack/shared_storm
 */
int drover_cond_destroy_on(drover_cond_t *cond, drover_mutex_t *mutex);

/**
 * drover_prepare_thread() - get the memory for the calling thread's waits
 *
 * The first wait of a thread may map memory, up to two pages. A thread that
 * must not map memory in the middle of its work calls this function first. A
 * later wait maps memory only if the memory that the process has got so far
 * does not suffice for all waiting threads.
 *
 * Return: 0, or ENOMEM.
 *
 * Tests: cond/no_memory
 */
int drover_prepare_thread(void);

/**
 * drover_version() - the version of the library that is loaded
 *
 * Return: a string such as "0.1.0", which is never NULL and must not be freed.
 *
 * Tests: cond/no_memory
 */
const char *drover_version(void);

#if defined(__GNUC__) && !defined(DROVER_NO_INLINE)
/*
 * A signal or a broadcast that finds no waiter reads two words and returns, so
 * the compiler puts these reads into the caller. Define DROVER_NO_INLINE if
 * each signal has to enter the library: in programs that use a debug build of
 * the library, or whose signals are counted at the library's entry.
 *
 * The words are struct cond's @flags and @closed_low. The flags have other bits
 * than the clock's if processes share @cond or threads wait with a predicate.
 */
#define DROVER_NOBODY_WAITS(cond)                                              \
	__builtin_expect(                                                      \
		!(__atomic_load_n(&(cond)->words[9], __ATOMIC_RELAXED) &       \
		  ~2u) &&                                                      \
			!__atomic_load_n(&(cond)->words[5], __ATOMIC_RELAXED), \
		1)

int drover_cond_signal_call(drover_cond_t *cond) __asm__("drover_cond_signal");
int drover_cond_broadcast_call(drover_cond_t *cond) __asm__(
	"drover_cond_broadcast");

extern __inline__ __attribute__((__gnu_inline__)) int
drover_cond_signal(drover_cond_t *cond)
{
	return DROVER_NOBODY_WAITS(cond) ? 0 : drover_cond_signal_call(cond);
}

extern __inline__ __attribute__((__gnu_inline__)) int
drover_cond_broadcast(drover_cond_t *cond)
{
	return DROVER_NOBODY_WAITS(cond) ? 0 : drover_cond_broadcast_call(cond);
}

#undef DROVER_NOBODY_WAITS
#endif

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DROVER_COND_H */
