/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fake_futex.h - a layer between the library and the kernel's futex
 *
 * The programs of attack/ are linked to a build of the library that calls
 * raw_futex_call() instead of the kernel. The layer does only what a kernel may
 * do to its caller at any time, see struct fake_futex. It draws from a stream
 * of random numbers for each thread, which depends only on the seed and the
 * thread's number. So a seed does the same to the same calls again, as far as
 * the scheduler permits.
 */
#pragma once

#include <sys/prctl.h>

#include "blocked.h"
#include "futex_call.h"
#include "run.h"

/* How late a call may be, and how near a deadline must be to count as near. */
#define FAKE_FUTEX_LATE_NS (60 * 1000)
#define FAKE_FUTEX_NEAR_NS (400 * 1000)

/**
 * struct fake_futex - what the layer does; all zero: nothing
 * @seed: of all threads' random numbers
 * @late: how many of 1000 calls are late, before the kernel's part and after it
 * @spurious: how many of 1000 waits return 0, EINTR or EAGAIN at once, and PI
 *	      operations EAGAIN
 * @expire: how many of 1000 waits with a near deadline let it pass outside the
 *	    kernel: a wake that comes meanwhile goes to another thread
 * @refuse_with: ENOSYS or EPERM for requeues, or 0
 * @refuse_from: the number of the first requeue that is refused
 */
struct fake_futex {
	uint64_t seed;
	uint32_t late;
	uint32_t spurious;
	uint32_t expire;
	int refuse_with;
	int refuse_from;
};

static struct fake_futex fake_futex;
static atomic_int fake_futex_nr_requeues;
static atomic_uint fake_futex_nr_threads;
static _Thread_local bool fake_futex_started;
static _Thread_local uint64_t fake_futex_random;

/* fake_futex_thread - this thread is number @nr: its random numbers start */
static inline void fake_futex_thread(unsigned int nr)
{
	fake_futex_random = fake_futex.seed + nr * UINT64_C(0x632be59bd9b4e019);
	random_next(&fake_futex_random);
	fake_futex_started = true;
}

/* fake_futex_start - begin to do as @fake says; the caller is thread 0 */
static inline void fake_futex_start(struct fake_futex fake)
{
	/* With the default slack a sleep takes 50 microseconds more. */
	prctl(PR_SET_TIMERSLACK, 1);
	fake_futex = fake;
	fake_futex_nr_requeues = 0;
	fake_futex_thread(0);
}

static inline bool fake_futex_draws(uint32_t of_thousand)
{
	/* A thread that did not say its number gets the next one. */
	if (!fake_futex_started)
		fake_futex_thread(1 +
				  atomic_fetch_add(&fake_futex_nr_threads, 1));
	return of_thousand &&
	       random_below(&fake_futex_random, 1000) < of_thousand;
}

static inline void fake_futex_late(void)
{
	uint32_t ns;

	if (!fake_futex_draws(fake_futex.late))
		return;
	ns = random_below(&fake_futex_random, FAKE_FUTEX_LATE_NS);
	switch (random_below(&fake_futex_random, 3)) {
	case 0:
		sched_yield();
		break;
	case 1:
		for (volatile uint32_t i = 0; i < ns / 16; i++)
			;
		break;
	default:
		/* The library's nanosleep() would be a cancellation point. */
		syscall(SYS_nanosleep, &(struct timespec){ .tv_nsec = ns },
			NULL);
	}
}

/* Return: nanoseconds until @deadline; INT64_MAX without a deadline. */
static inline int64_t fake_futex_left(int op, const struct timespec *deadline)
{
	bool realtime = op & FUTEX_CLOCK_REALTIME;

	if (!deadline)
		return INT64_MAX;
	return deadline->tv_sec * NS_PER_S + deadline->tv_nsec -
	       ns_of(realtime ? CLOCK_REALTIME : CLOCK_MONOTONIC);
}

static inline long fake_futex_error(int error)
{
	errno = error;
	return -1;
}

/* Return: does the layer answer instead of the kernel, with @result? */
static inline bool fake_futex_wait(int op, const struct timespec *deadline,
				   long *result)
{
	/* A plain wait may return any of these at any time. */
	static const int errors[] = { 0, EINTR, EAGAIN };
	int64_t left = fake_futex_left(op, deadline);
	int error = EAGAIN;

	if (left < FAKE_FUTEX_NEAR_NS && fake_futex_draws(fake_futex.expire)) {
		while (fake_futex_left(op, deadline) > 0)
			sched_yield();
		*result = fake_futex_error(ETIMEDOUT);
		return true;
	}
	if (!fake_futex_draws(fake_futex.spurious))
		return false;
	/*
	 * A wait for requeue-PI that returns 0 has the lock, so it returns
	 * none.
	 */
	if ((op & FUTEX_CMD_MASK) == FUTEX_WAIT_REQUEUE_PI)
		error = EAGAIN;
	else
		error = errors[random_below(&fake_futex_random, 3)];
	*result = error ? fake_futex_error(error) : 0;
	return true;
}

/* Return: does the layer answer instead of the kernel, with @result? */
static inline bool fake_futex_answers(int op, const void *timeout, long *result)
{
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
		return fake_futex_wait(op, timeout, result);
	case FUTEX_CMP_REQUEUE:
		if (fake_futex_nr_requeues++ < fake_futex.refuse_from ||
		    !fake_futex.refuse_with)
			return false;
		*result = fake_futex_error(fake_futex.refuse_with);
		return true;
	case FUTEX_CMP_REQUEUE_PI:
	case FUTEX_LOCK_PI:
		/* A kernel does so while another thread exits or wakes. */
		*result = fake_futex_error(EAGAIN);
		return fake_futex_draws(fake_futex.spurious);
	default:
		return false;
	}
}

/* The library calls this function. */
long raw_futex_call(_Atomic uint32_t *word, int op, uint32_t val,
		    const void *timeout_or_val2, _Atomic uint32_t *word2,
		    uint32_t val3)
{
	long result;
	int error;

	fake_futex_late();
	if (!fake_futex_answers(op, timeout_or_val2, &result))
		result = syscall(SYS_futex, word, op, val, timeout_or_val2,
				 word2, val3);
	error = errno;
	fake_futex_late();
	errno = error;
	return result;
}
