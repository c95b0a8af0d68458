/* SPDX-License-Identifier: MIT */
/*
 * drover_mutex_t: a sleeping mutual-exclusion lock for the threads of one or
 * several processes, small enough to embed anywhere. A broadcast on a
 * drover_cond_t can move waiters to such a mutex: they stay asleep, and from
 * then on wait for the mutex. drover_cond(3) has an example.
 *
 * The algorithm is the three-state futex lock (free, locked, locked with
 * sleepers) of U. Drepper, "Futexes Are Tricky", section "Mutex, Take 2". With
 * DROVER_MUTEX_PI or DROVER_MUTEX_ROBUST the mutex is instead one of the
 * kernel's PI futexes (PI: priority inheritance).
 *
 * In the child of a fork, the child's only thread holds the mutexes that the
 * forking thread held, and can unlock them, because a mutex records its holder
 * by a number that a fork does not change. But a mutex with
 * DROVER_MUTEX_SHARED, DROVER_MUTEX_PI or DROVER_MUTEX_ROBUST records the
 * thread id of its holder, and the child's thread has another id. So the
 * parent's thread is still the holder, and drover_mutex_unlock() in the child
 * returns EPERM. If a PI or robust mutex lacks DROVER_MUTEX_SHARED, the child
 * has its own copy of the mutex. If any thread held this mutex at the fork, no
 * thread can unlock the copy, so the child has to initialise the copy again.
 *
 * In all functions @mutex is the mutex. @attr may be NULL, for the defaults.
 *
 * All functions return 0 or an errno value. No function changes errno, and a
 * function blocks only if its description says so. No function is a
 * cancellation point.
 *
 * Tests: mutex/basic
 */
#ifndef DROVER_MUTEX_H
#define DROVER_MUTEX_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct timespec; /* strict C99 does not declare it in <time.h> */

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/**
 * drover_mutex_t - a mutex; the content is private to the library
 *
 * A drover_mutex_t of which all bytes are zero is a valid, unlocked mutex. A
 * mutex may lie in static storage, on a stack or on the heap; it must not be
 * copied or moved while in use.
 */
typedef union {
	char size[40];
	uint64_t align;
} drover_mutex_t;

/* drover_mutexattr_t.flags: any combination, but not both of the first two. */
#define DROVER_MUTEX_RECURSIVE	0x01u /* the holder may lock again */
#define DROVER_MUTEX_ERRORCHECK 0x02u /* a second lock returns EDEADLK */
#define DROVER_MUTEX_PI		0x04u /* waiters lend the holder their priority */
#define DROVER_MUTEX_ROBUST	0x08u /* a holder's death is reported; implies PI */
#define DROVER_MUTEX_SHARED	0x10u /* lies in memory that processes share */

/**
 * drover_mutexattr_t - mutex attributes
 * @flags: DROVER_MUTEX_*
 * @reserved: zero
 *
 * If all bytes are zero, none of these attributes is set.
 */
typedef struct {
	uint32_t flags;
	uint32_t reserved[3];
} drover_mutexattr_t;

/* clang-format off */
#ifdef __cplusplus
#define DROVER_MUTEX_INITIALIZER {}
#else
#define DROVER_MUTEX_INITIALIZER { { 0 } }
#endif
/* clang-format on */

/**
 * drover_mutex_init() - initialise the memory at @mutex as an unlocked mutex
 *
 * Return: 0; EINVAL when @attr has unknown flags, or flags that exclude each
 * other; ENOTSUP when @attr has DROVER_MUTEX_PI or DROVER_MUTEX_ROBUST and the
 * kernel has no PI futexes.
 *
 * Tests: mutex/basic
 */
int drover_mutex_init(drover_mutex_t *mutex, const drover_mutexattr_t *attr);

/**
 * drover_mutex_destroy() - end the life of a mutex
 * @mutex: a mutex that no thread holds or waits for
 *
 * The memory may be freed as soon as the call has returned, even if the
 * drover_mutex_unlock() of the last holder has not returned yet.
 *
 * Return: 0, or EBUSY when @mutex is locked (nothing is changed).
 *
 * Tests: mutex/basic cond/destroy_at_once
 */
int drover_mutex_destroy(drover_mutex_t *mutex);

/**
 * drover_mutex_lock() - wait until @mutex is free, and take it
 *
 * The call blocks. If @mutex is neither PI nor robust, the caller may poll
 * before it sleeps. It polls for at most as long as its wake-up would take: see
 * "Polling" in drover(7).
 *
 * If @mutex is neither recursive nor error-checking, a thread that locks it
 * twice waits for itself for ever. A @mutex that is not robust stays locked if
 * its holder ends, and the caller then waits for ever. If @mutex is PI, the
 * waiting thread of highest priority gets it first; otherwise no order is
 * promised. Signal handlers may run during the wait, and the wait goes on
 * afterwards.
 *
 * Return: 0; EDEADLK when the caller holds an error-checking @mutex already;
 * EAGAIN when the caller has locked a recursive @mutex too many times. With a
 * robust @mutex also EOWNERDEAD and ENOTRECOVERABLE. EOWNERDEAD means that the
 * holder has died. The caller now has @mutex; it has to repair what @mutex
 * guards, and then call drover_mutex_consistent(). ENOTRECOVERABLE means that
 * an earlier caller got EOWNERDEAD, and unlocked @mutex before it had called
 * drover_mutex_consistent().
 *
 * A robust @mutex records the thread id of its holder. When another thread
 * tries to lock @mutex, the kernel looks whether a thread with this id exists.
 * If the holder has died, and a new thread has got the same id by then, the
 * call waits until the new thread ends.
 *
 * Tests: mutex/basic stress/cond_mixed
 */
int drover_mutex_lock(drover_mutex_t *mutex);

/**
 * drover_mutex_trylock() - take @mutex if that needs no waiting
 *
 * Return: 0; EBUSY when another thread holds @mutex, or when the caller holds
 * @mutex and @mutex is not recursive; EAGAIN, EOWNERDEAD and ENOTRECOVERABLE as
 * drover_mutex_lock().
 *
 * Tests: mutex/basic attack/storm
 */
int drover_mutex_trylock(drover_mutex_t *mutex);

/**
 * drover_mutex_timedlock() - drover_mutex_lock() with a deadline
 * @clock: CLOCK_REALTIME or CLOCK_MONOTONIC
 * @deadline: absolute time on @clock
 *
 * The call blocks until @deadline at most. If @mutex is free, the call does not
 * block.
 *
 * Return: 0; ETIMEDOUT when @deadline has passed; EINVAL when the call has to
 * wait and the time is invalid (@clock is another clock, or tv_nsec is outside
 * 0 to 999,999,999); otherwise as drover_mutex_lock().
 *
 * Tests: mutex/basic attack/storm
 */
int drover_mutex_timedlock(drover_mutex_t *mutex, clockid_t clock,
			   const struct timespec *deadline);

/**
 * drover_mutex_unlock() - release @mutex and wake one waiting thread, if any
 *
 * The call makes a system call only when threads may be asleep.
 *
 * Return: 0, or EPERM when the calling thread does not hold @mutex (nothing is
 * changed).
 *
 * Tests: mutex/basic attack/calls
 */
int drover_mutex_unlock(drover_mutex_t *mutex);

/**
 * drover_mutex_consistent() - say that the data of a robust mutex is repaired
 *
 * Return: 0; EINVAL when the caller did not get @mutex with EOWNERDEAD, or has
 * unlocked @mutex after that.
 *
 * Tests: mutex/basic
 */
int drover_mutex_consistent(drover_mutex_t *mutex);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DROVER_MUTEX_H */
