/* SPDX-License-Identifier: MIT */
/*
 * drover_cond_t: a condition variable. If several threads wait and the mutex is
 * held, a broadcast moves the waiters to the mutex instead of waking them all
 * (drover_cond_broadcast() has the details). A moved waiter stays asleep, and
 * from then on waits for the mutex. drover_cond(3) has an example.
 *
 * The library guarantees the following (how: Documentation/cond-design.rst):
 *  - A signal or broadcast determines, in one atomic step, which threads it
 *    unblocks. A thread that starts to wait after that step never takes the
 *    signal from a thread that waited before (POSIX.1-2024).
 *  - In normal operation no wait returns spuriously. A spurious return is
 *    possible in two cases only. In the first case the process has run out of
 *    memory. In the second case several processes share the condition variable,
 *    and the younger of its two groups of waiters (see drover_cond_signal())
 *    already has 2^13 - 1 threads, killed ones included.
 *  - A signal or a broadcast makes no system call if no thread waits.
 *  - A condition variable may be destroyed as soon as all waiters have been
 *    unblocked, and its memory may be freed as soon as drover_cond_destroy()
 *    has returned.
 *  - In the child of a fork a condition variable has no waiters, unless several
 *    processes share it.
 *
 * In all functions @cond is the condition variable, and @mutex is the mutex.
 * The caller of a wait must hold @mutex, and must not have locked a recursive
 * @mutex more than once. @attr may be NULL, for the defaults.
 *
 * All functions except drover_version() return 0 or an errno value, and no
 * function changes errno. A function blocks only if its description says so,
 * but every function may wait briefly for an internal lock. No function is a
 * cancellation point.
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
#define DROVER_COND_SHARED 0x1u /* "shared": several processes may use it */

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
 * The call is legal as soon as all waiters have been unblocked. The waiters
 * need not have returned, and the caller may hold the mutex. If @cond is not
 * shared and another thread is still in a signal or broadcast, the call waits
 * until that thread no longer touches @cond. This wait is short: a signal or
 * broadcast touches @cond only during a few instructions.
 *
 * The call is also legal while threads wait with a predicate, in
 * drover_cond_await(), under two conditions. First, the predicates of all these
 * threads are true. Second, after the predicates became true, the program has
 * broadcast on @cond, or has signalled @cond once for each of these threads.
 * (Such threads are unblocked one after the other, so some of them may still be
 * blocked.) These threads use @cond only while they hold the mutex. So if the
 * caller holds the mutex, the call detaches them from @cond, and does not wait
 * for them. If the predicate of such a thread is false again when the thread
 * gets the mutex, its wait returns EINVAL. If the caller does not hold the
 * mutex, the call blocks until these threads have returned.
 *
 * If @cond is shared, the call blocks until no waiter, and no thread in a
 * signal or broadcast, uses @cond any more. If all threads that still use @cond
 * belong to other processes, and for two seconds none of them finishes with
 * @cond, the call assumes that these threads are dead, and returns. (A killed
 * thread never finishes.) If a thread that was assumed dead was only stopped,
 * and runs again later, this thread may still write to @cond once.
 *
 * If drover_cond_broadcast_on() has been called on @cond, call
 * drover_cond_destroy_on() instead of this function.
 *
 * Return: 0.
 *
 * Tests: cond/destroy_at_once cond/one_preemption pthread/processes
 */
int drover_cond_destroy(drover_cond_t *cond);

/**
 * drover_cond_wait() - release @mutex and sleep until unblocked
 *
 * The call blocks. The caller counts as a waiter before @mutex is released, so
 * it misses no signal from a thread that locks @mutex after the release. When
 * the call returns, the caller holds @mutex again, except after EPERM and
 * ENOTRECOVERABLE.
 *
 * If no mutex of the waiters is PI or robust (DROVER_MUTEX_PI and
 * DROVER_MUTEX_ROBUST, mutex.h), threads that wait at the same time may use
 * different mutexes. If they do, a broadcast may wake all of them instead of
 * moving them.
 *
 * Return: 0; EPERM when the caller does not hold @mutex; EINVAL when other
 * threads wait with another mutex, and one of the two mutexes is PI or robust
 * (@mutex was not released). With a robust @mutex also EOWNERDEAD and
 * ENOTRECOVERABLE, as drover_mutex_lock(). Neither of these two errors shows
 * whether the caller was unblocked.
 *
 * Tests: cond/one_preemption cond/wakeup_rounds cond/mutex_kinds
 * Tests: pthread/mutex_kinds
 */
int drover_cond_wait(drover_cond_t *cond, drover_mutex_t *mutex);

/**
 * drover_cond_timedwait() - drover_cond_wait() with a deadline
 * @deadline: absolute time on the clock of @cond, CLOCK_REALTIME by default
 *
 * If the caller was unblocked, the call returns 0, even if @deadline passes
 * before the call returns.
 *
 * Return: as drover_cond_wait(); also ETIMEDOUT (@mutex is held, and no signal
 * was consumed), and EINVAL when tv_nsec is not within 0 to 999,999,999 (@mutex
 * was not released).
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
 * held evaluates the waiters' predicates for them, oldest waiter first, and
 * does not wake waiters whose predicates are false. One signal or broadcast
 * evaluates at most 64 predicates. If all of these are false, it unblocks the
 * next waiter without evaluating the predicate of this waiter. Two kinds of
 * thread evaluate nothing: a thread that signals or broadcasts without @mutex,
 * and a thread that has got a robust @mutex from a dead holder and has not yet
 * called drover_mutex_consistent(). Such a thread unblocks the first waiter,
 * whatever the waiter's predicate is (a broadcast may unblock the first two).
 *
 * When an unblocked waiter has @mutex again, it evaluates its own predicate. If
 * this predicate is false by then, the waiter goes on waiting. If the waiter
 * hands the signal or the broadcast on (see below), it also evaluates the
 * predicates of up to 64 waiters behind it. So the waiter after 64 false
 * predicates continues the search.
 *
 * *What a predicate may do.* Other threads run the predicate, in the middle of
 * a signal or a broadcast. So the predicate should be short. It may read @arg
 * and the data that @mutex guards. Its result must be the same in every thread,
 * so the result must not depend on thread-local variables or thread ids. The
 * predicate must not lock a mutex that any thread holds during a signal or a
 * broadcast. It must not unlock @mutex, wait, signal, broadcast, end the thread
 * or jump out (longjmp). If the predicate does any of this, the behaviour is
 * undefined, and the thread that evaluates the predicate may deadlock with
 * itself. If the predicate throws a C++ exception, the exception propagates out
 * of the call that evaluates the predicate. That call may be another thread's
 * signal, and other waiters then stay blocked. The class
 * drover::condition_variable of drover.hpp throws the exception in the waiting
 * thread instead.
 *
 * *Signal.* If the thread that signals evaluates predicates, the signal
 * unblocks the oldest waiter whose predicate is true, or the waiter after 64
 * false predicates (see above). If there is no such waiter, the signal unblocks
 * one thread that waits without a predicate.
 *
 * A waiter first polls for a moment. If it is not unblocked meanwhile, it falls
 * asleep. From its unblocking until it has @mutex again, a waiter is *on its
 * way*. If more waiters are on their way than there are CPUs, one more woken
 * waiter would find no free CPU. So there is an exception to the rules above. A
 * signal is *left* to a waiter on its way if the rules would unblock a waiter
 * that sleeps, and if more of the waiters before the sleeping one are on their
 * way than there are CPUs. The sleeping waiter then stays blocked. If the rules
 * would unblock a waiter that still polls, the waiter is unblocked as usual. If
 * @mutex is a PI mutex, or if threads wait without a predicate, no signal is
 * left to another waiter.
 *
 * An unblocked waiter hands on each signal that it does not use, by the rules
 * for a signal. If its predicate is true when it has @mutex again, the waiter
 * uses one signal, and hands on only the signals that were left to it. If its
 * predicate is false, or if the waiter is terminated in its wait (by
 * pthread_exit() in a signal handler), the waiter uses none.
 *
 * *Broadcast.* A broadcast unblocks all threads that wait without a predicate.
 * Of the waiters with a predicate it unblocks one, or two if there are several
 * CPUs. Each unblocked waiter, when it has @mutex again, unblocks the next
 * waiter whose predicate is true at that time, or the waiter after 64 false
 * predicates. The waiters are thus unblocked one by one, and each of them that
 * has fallen asleep costs one system call.
 *
 * *Order.* Waiters with a predicate are unblocked in the order in which they
 * began to wait, whatever their priority, even with a PI mutex.
 *
 * *When other threads cannot evaluate the predicate.* There are two such cases.
 * In the first case @cond is shared, and another process cannot call this
 * process's predicates. In the second case other threads already wait with
 * predicates, but with another mutex. In both cases the call makes plain waits,
 * as drover_cond_wait(), in a loop that ends when @predicate is true. So a
 * signal or broadcast may wake the thread although @predicate is false. The
 * thread then waits again, and the call does not return.
 *
 * Return: 0; EPERM when the caller does not hold @mutex (nothing was
 * evaluated); EINVAL as drover_cond_wait(), and also when @cond was destroyed
 * during the wait and the predicate is false when the caller has @mutex again
 * (see drover_cond_destroy()); EOWNERDEAD and ENOTRECOVERABLE as
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
 * @deadline has passed; also ETIMEDOUT when @deadline has passed and the
 * predicate is false (@mutex is held, and no signal was consumed); EINVAL when
 * @clock is another clock, or when tv_nsec is not within 0 to 999,999,999
 * (nothing was evaluated).
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
 * older group have been unblocked already, the younger group becomes the older
 * one, and the signal unblocks one of its threads. Within a group no order is
 * promised. If the mutex is not a PI mutex, the unblocked thread is woken, even
 * if the caller holds the mutex. (With one value of the environment variable
 * DROVER_POLICY the thread is moved to the mutex instead: see drover(7).)
 *
 * If the mutex is a PI mutex, the kernel chooses the thread of highest priority
 * in the older group. If the mutex is free, the kernel hands the mutex to this
 * thread; if the mutex is held, the kernel moves the thread to the mutex. If
 * the younger group is empty, a thread that starts to wait with a PI mutex
 * joins the older group, so that the kernel can choose among all waiters. There
 * is an exception: if a thread of the older group was unblocked and has not
 * woken yet, the new waiter joins the younger group. If the new waiter were in
 * the older group, it could take the signal of that thread.
 *
 * If threads wait with a predicate, the description of drover_cond_await() says
 * which thread is unblocked.
 *
 * Return: 0.
 *
 * Tests: cond/wakeup_rounds cond/broadcast_moves
 */
int drover_cond_signal(drover_cond_t *cond);

/**
 * drover_cond_broadcast() - unblock all threads that wait on @cond
 *
 * These rules hold for a mutex that is not PI. If several threads wait and the
 * caller holds the mutex, the threads are moved to the mutex. If several
 * threads wait and another thread holds the mutex, one of the waiters is woken,
 * and the others are moved. If the mutex is free, all waiters are woken. A
 * single waiter is woken even if the mutex is held. DROVER_POLICY can change
 * these rules: see drover(7).
 *
 * If the mutex is a PI mutex (a robust mutex always is one), all threads are
 * moved, even a single one. If such a mutex is free, the kernel hands it to the
 * thread of highest priority.
 *
 * In three cases all threads are woken, and none is moved:
 *
 *  - Their mutex or @cond is shared (but see drover_cond_broadcast_on()).
 *  - The kernel refuses to move threads.
 *  - Threads of one group (see drover_cond_signal()) wait with several mutexes.
 *    None of these mutexes is PI: with a PI mutex, drover_cond_wait() returns
 *    EINVAL instead.
 *
 * With a mutex that is not PI, the number of system calls depends on who holds
 * the mutex. If the caller holds the mutex, each system call moves up to 64
 * threads, so that no call takes long. If another thread holds the mutex, one
 * waiter has to be woken: this waiter marks the mutex contended, so that the
 * next thread that unlocks the mutex wakes a moved thread. The system call that
 * moves threads to the mutex also wakes this waiter. If there were a second
 * such call, all threads of the first call could be done with the mutex by
 * then, so the second call would have to wake a waiter as well, mostly for
 * nothing. So there is only one such call, and it moves all other threads,
 * however many there are.
 *
 * One call can move only threads that sleep on the same futex word, and each
 * group has a futex word of its own. So if another thread holds the mutex and
 * both groups have threads, the threads of the younger group are first moved to
 * the futex word of the older group, behind the threads of the older group. The
 * system calls for this first move wake no thread, and each of them moves up to
 * 64 threads.
 *
 * If threads wait with a predicate, the description of drover_cond_await() says
 * in which order they are unblocked.
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
 * The call differs from drover_cond_broadcast() only if @cond is shared. The
 * library cannot find out at which address the caller's process sees the mutex
 * of the waiters, so it can move waiters only if the caller passes @mutex.
 *
 * Waiters are moved if @mutex is shared and neither PI nor robust, several
 * threads wait, and any thread (the caller or another one) holds @mutex. In
 * this case the call wakes one waiter and moves the other waiters to @mutex. If
 * one of these conditions does not hold, all waiters are woken. They may also
 * be woken if another thread begins to wait, signals or broadcasts meanwhile.
 * DROVER_POLICY can change these rules: see drover(7).
 *
 * The woken waiter marks @mutex contended, so that the next thread that unlocks
 * @mutex wakes another waiter. If the woken waiter is killed before it has
 * marked @mutex, the moved waiters sleep until two things have happened. First,
 * another thread that wants @mutex finds it held, and marks it contended.
 * Second, @mutex is unlocked after that, and this unlock wakes one of the moved
 * waiters.
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
 * This is drover_cond_destroy() for a condition variable on which
 * drover_cond_broadcast_on() has been called. If @cond is shared and waiters
 * were moved to @mutex, the call first wakes these waiters, and then waits
 * until they no longer use @cond.
 *
 * Return: 0.
 *
 * Tests: cond/mutex_kinds attack/shared_storm
 */
int drover_cond_destroy_on(drover_cond_t *cond, drover_mutex_t *mutex);

/**
 * drover_prepare_thread() - get the memory for the calling thread's first wait
 *
 * The first wait of a thread may map memory, up to two pages. If a thread must
 * not map memory in the middle of its work, it calls this function before that
 * work: then the thread's first wait maps no memory. A later wait uses the
 * piece of memory that the thread has kept from an earlier wait. If the thread
 * has kept none, the wait takes a piece from a stock that all threads share. If
 * the stock is empty, too, the wait maps more memory.
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
 * A signal or a broadcast that finds no waiter reads two words and returns.
 * This is so short that the compiler puts it into the caller. If each signal
 * has to enter the library, define DROVER_NO_INLINE. This is necessary in
 * programs that use a debug build of the library, and in programs whose
 * signals are counted at the library's entry.
 *
 * Word 9 has flags. The flag with the value 2 is the clock of the deadlines,
 * and is not looked at here. In two cases the call enters the library: another
 * flag is set (processes share @cond, or threads wait with a predicate), or
 * word 5 is not 0 (threads wait without a predicate). In the library, word 9 is
 * @flags of struct cond, and word 5 is its @closed_low, which also says whether
 * there is an open group.
 */
#define DROVER_COND_WORD(cond, i) \
	__atomic_load_n(&(cond)->words[i], __ATOMIC_RELAXED)
#define DROVER_NOBODY_WAITS(cond)                              \
	__builtin_expect(!(DROVER_COND_WORD(cond, 9) & ~2u) && \
				 !DROVER_COND_WORD(cond, 5),   \
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
#undef DROVER_COND_WORD
#endif

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DROVER_COND_H */
