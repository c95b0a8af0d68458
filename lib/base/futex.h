/* SPDX-License-Identifier: MIT */
/*
 * The futex operations that the library uses, one small function each.
 *
 * All take the address of a 32-bit word. @shared says whether several processes
 * may use the word; false is for the cheaper private futex. All return the
 * kernel's result, an error as a negative errno value, and leave errno alone.
 *
 * What an error means to a caller:
 *
 *   wait	-EAGAIN		the word no longer has the value: look again
 *		-EINTR		a signal handler ran: look again
 *		-ETIMEDOUT	the deadline has passed
 *   requeue	-EAGAIN		the word no longer has the value: none is moved
 *		-ENOSYS		the kernel has no requeue: wake instead
 *		-EPERM		a seccomp filter refuses it: wake instead
 *   lock	-ESRCH		the holder has died
 *		-EDEADLK	the word has the caller's own id
 *   any	-EFAULT		the memory is gone. A wake may get this if the
 *				word's owner has freed it: harmless.
 *
 * Any other error is a bug of the library's.
 */
#ifndef DROVER_FUTEX_H
#define DROVER_FUTEX_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"

#if !defined(__LP64__)
#error "libdrover supports 64-bit Linux only (time_t in the futex calls)"
#endif

typedef _Atomic uint32_t futex_word;

/* The halves of a 64-bit state: threads sleep on one of them. */
#define LOW_HALF(state) \
	((futex_word *)(state) + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__))
#define HIGH_HALF(state) \
	((futex_word *)(state) + (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__))

#define NS_PER_US INT64_C(1000)
#define NS_PER_S  INT64_C(1000000000)

/* Return: the time in nanoseconds. */
static inline int64_t clock_read(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

#define clock_now() clock_read(CLOCK_MONOTONIC)

/**
 * struct deadline - an absolute time on a clock
 * @clock: CLOCK_REALTIME or CLOCK_MONOTONIC
 * @at: the time; tv_nsec is within 0 to 999,999,999
 */
struct deadline {
	clockid_t clock;
	struct timespec at;
};

static inline bool deadline_valid(const struct deadline *d)
{
	return (d->clock == CLOCK_REALTIME || d->clock == CLOCK_MONOTONIC) &&
	       d->at.tv_nsec >= 0 && d->at.tv_nsec < NS_PER_S;
}

/*
 * A test can be linked to a build of the library that calls the test instead of
 * the kernel. The test then delays or refuses the operation:
 * selftests/include/fake_futex.h. It returns the same as syscall() does.
 */
#ifdef DROVER_FAKE_FUTEX
long raw_futex_call(futex_word *word, int op, uint32_t val,
		    const void *timeout_or_val2, futex_word *word2,
		    uint32_t val3);
#else
#define raw_futex_call(...) syscall(SYS_futex, __VA_ARGS__)
#endif

/* The only way to the kernel. The six-argument form serves every operation. */
static inline long futex_call(futex_word *word, int op, bool shared,
			      uint32_t val, const void *timeout_or_val2,
			      futex_word *word2, uint32_t val3)
{
	long ret;

	op |= shared ? 0 : FUTEX_PRIVATE_FLAG;
#if defined(__x86_64__) && !defined(DROVER_FAKE_FUTEX)
	/* syscall() would cost fifty instructions more, most of them for errno. */
	register const void *arg4 __asm__("r10") = timeout_or_val2;
	register futex_word *arg5 __asm__("r8") = word2;
	register uint32_t arg6 __asm__("r9") = val3;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(SYS_futex), "D"(word), "S"(op), "d"(val),
			   "r"(arg4), "r"(arg5), "r"(arg6)
			 : "rcx", "r11", "memory");
#elif defined(__riscv) && !defined(DROVER_FAKE_FUTEX)
	/* glibc's syscall() cannot be unwound: see SLEEPS. */
	__asm__ volatile("mv a0, %1; mv a1, %2; mv a2, %3; mv a3, %4;"
			 "mv a4, %5; mv a5, %6; li a7, %7; ecall; mv %0, a0"
			 : "=r"(ret)
			 : "r"(word), "r"(op), "r"(val), "r"(timeout_or_val2),
			   "r"(word2), "r"(val3), "i"(SYS_futex)
			 : "a0", "a1", "a2", "a3", "a4", "a5", "a7", "memory");
#else
	int saved = errno;

	ret = raw_futex_call(word, op, val, timeout_or_val2, word2, val3);
	if (ret < 0) {
		ret = -errno;
		errno = saved;
	}
#endif
	return ret;
}

/*
 * Sleep while @word is @val, until woken or @deadline (NULL: no deadline).
 * @bits: futex_wake_bits() wakes threads that have one of its bits. @pi_target:
 * NULL, or the PI lock to which futex_cmp_requeue_pi() moves the thread.
 * If @pi_target is set, a result of 0 says that the caller has that lock.
 */
static inline long futex_wait_for(futex_word *word, uint32_t val,
				  const struct deadline *deadline, bool shared,
				  uint32_t bits, futex_word *pi_target)
{
	int op = pi_target ? FUTEX_WAIT_REQUEUE_PI : FUTEX_WAIT_BITSET;
	const struct timespec *at = NULL;

	if (deadline) {
		/* The kernel takes no time before the epoch. */
		if (deadline->at.tv_sec < 0)
			return -ETIMEDOUT;
		at = &deadline->at;
		if (deadline->clock == CLOCK_REALTIME)
			op |= FUTEX_CLOCK_REALTIME;
	}
	return futex_call(word, op, shared, val, at, pi_target, bits);
}

static inline long futex_wait(futex_word *word, uint32_t val,
			      const struct deadline *deadline, bool shared)
{
	return futex_wait_for(word, val, deadline, shared,
			      FUTEX_BITSET_MATCH_ANY, NULL);
}

/* Wake at most @nr_wake threads that sleep on @word. */
static inline long futex_wake(futex_word *word, int nr_wake, bool shared)
{
	return futex_call(word, FUTEX_WAKE, shared, (uint32_t)nr_wake, NULL,
			  NULL, 0);
}

/* Wake at most @nr_wake of the threads on @word that have one of @bits. */
static inline long futex_wake_bits(futex_word *word, int nr_wake, bool shared,
				   uint32_t bits)
{
	return futex_call(word, FUTEX_WAKE_BITSET, shared, (uint32_t)nr_wake,
			  NULL, NULL, bits);
}

/*
 * If @word is @val, wake at most @nr_wake of its sleepers and move at most
 * @nr_requeue more to @target, in one step.
 */
static inline long futex_cmp_requeue(futex_word *word, uint32_t val,
				     int nr_wake, int nr_requeue,
				     futex_word *target, bool shared)
{
	return futex_call(word, FUTEX_CMP_REQUEUE, shared, (uint32_t)nr_wake,
			  (const void *)(uintptr_t)nr_requeue, target, val);
}

#ifdef DROVER_REQUEUE_MARK
/*
 * Of kernel/patches/mark, whose flag no kernel has been given yet: for kernels
 * of one's own. If @word is @val and @target is locked, store @mark in it and
 * move at most 1 + @nr_requeue of the sleepers of @word to it; if @target is 0,
 * wake one and move at most @nr_requeue; all in one step. -EINVAL, -ENOSYS: the
 * kernel cannot. -EFAULT: @target cannot be written.
 */
static inline long futex_requeue_mark(futex_word *word, uint32_t val,
				      int nr_requeue, futex_word *target,
				      uint32_t mark)
{
	const uint32_t flags = 2 | FUTEX_PRIVATE_FLAG; /* 32 bits */
	const struct futex_waitv pair[] = {
		{ .val = val, .uaddr = (uintptr_t)word, .flags = flags },
		{ .val = mark, .uaddr = (uintptr_t)target, .flags = flags },
	};
	int saved = errno;
	long ret = syscall(456, pair, 1, 1, nr_requeue);

	if (ret < 0) {
		ret = -errno;
		errno = saved;
	}
	return ret;
}
#endif

/*
 * If @word is @val, give the PI lock @target to the first sleeper, or queue
 * that sleeper there if the lock is not free; and queue at most @nr_requeue
 * more.
 */
static inline long futex_cmp_requeue_pi(futex_word *word, uint32_t val,
					int nr_requeue, futex_word *target)
{
	return futex_call(word, FUTEX_CMP_REQUEUE_PI, false, 1,
			  (const void *)(uintptr_t)nr_requeue, target, val);
}

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13 /* Linux 5.14 */
#endif

/* Take the PI lock @word, which another thread holds, before @deadline. */
static inline long futex_lock_pi(futex_word *word,
				 const struct deadline *deadline, bool shared)
{
	bool other = deadline && deadline->clock == CLOCK_MONOTONIC;
	int op = other ? FUTEX_LOCK_PI2 : FUTEX_LOCK_PI;

	if (deadline && deadline->at.tv_sec < 0)
		return -ETIMEDOUT;
	return futex_call(word, op, shared, 0, deadline ? &deadline->at : NULL,
			  NULL, 0);
}

/*
 * Hand the PI lock @word, which the caller holds, to the first of its sleepers.
 */
static inline long futex_unlock_pi(futex_word *word, bool shared)
{
	return futex_call(word, FUTEX_UNLOCK_PI, shared, 0, NULL, NULL, 0);
}

#endif /* DROVER_FUTEX_H */
