/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * polling.h - polls that the tests of lib/base/poll.c begin themselves
 *
 * The test calls poll_before_sleep() and poll_for(). The event for which it
 * polls never comes, or comes late. Sleeps end at once, and the test says for
 * how long a yield leaves the CPU to other threads.
 */
#pragma once

#include <linux/futex.h>

#include "base/poll.h"
#include "blocked.h"
#include "run.h"

#define NR_TIMES 1000
#define LATE_NS	 500000 /* of CPU time */
#define SLICE_NS 3000000

static int nr_polls;
static atomic_int nr_yields;
static int64_t comes_at;
/*
 * A yield takes so many nanoseconds; -1: as many as the kernel's yield takes.
 */
static int64_t yield_ns;
/* No sleep ends before the test clears this. */
static atomic_bool sleepers_stay;
/* So many other threads fall asleep during a yield. */
static unsigned int nr_asleep;

static inline void sleep_once(struct poll_account *a)
{
	static futex_word word;

	sleep_on(&word, 0, NULL, false, FUTEX_BITSET_MATCH_ANY, a);
}

/* The library calls this function. Every sleep ends at once. */
long raw_futex_call(_Atomic uint32_t *word, int op, uint32_t val,
		    const void *timeout_or_val2, _Atomic uint32_t *word2,
		    uint32_t val3)
{
	while ((op & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && sleepers_stay)
		syscall(SYS_sched_yield);
	if ((op & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && timeout_or_val2) {
		errno = ETIMEDOUT;
		return -1;
	}
	return 0;
}

int sched_yield(void)
{
	struct timespec away = { .tv_nsec = yield_ns };
	int64_t until = ns_of(CLOCK_MONOTONIC) + yield_ns;

	nr_yields++;
	for (unsigned int i = 0; i < nr_asleep; i++)
		sleep_once(&(struct poll_account){ 0 });
	if (yield_ns < 0)
		return syscall(SYS_sched_yield);
	/* This sleep is no synchronisation: the thread leaves its CPU. */
	if (yield_ns >= SLICE_NS)
		nanosleep(&away, NULL);
	while (ns_of(CLOCK_MONOTONIC) < until)
		;
	return 0;
}

static inline bool never_comes(void *unused)
{
	nr_polls++;
	return false;
}

static inline bool comes_late(void *unused)
{
	nr_polls++;
	return ns_of(CLOCK_THREAD_CPUTIME_ID) >= comes_at;
}

static inline bool polls(struct poll_account *a, bool (*poll)(void *arg))
{
	nr_polls = 0;
	comes_at = ns_of(CLOCK_THREAD_CPUTIME_ID) + LATE_NS;
	poll_before_sleep(a, poll, NULL, INT64_MAX);
	return nr_polls > 1;
}
