/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sleepers.h - threads asleep on futexes, each waiting once
 */
#pragma once

#include "blocked.h"
#include "futex_call.h"
#include "run.h"

#define MOST_SLEEPERS 10

static struct sleeper {
	pthread_t thread;
	atomic_int tid; /* 0 until the thread runs */
	const void *futex;
	int flags;
} sleepers[MOST_SLEEPERS];

static int nr_sleepers;
static atomic_int nr_returned;

static inline void *sleeper_thread(void *arg)
{
	struct sleeper *s = arg;

	s->tid = blocked_gettid();
	sys_futex_wait(s->futex, s->flags, 0, NULL);
	nr_returned++;
	return NULL;
}

/* sleepers_fill - start @nr more threads, which fall asleep in this order */
static inline void sleepers_fill(int nr, const void *futex, int flags)
{
	while (nr--) {
		struct sleeper *s = &sleepers[nr_sleepers++];

		if (nr_sleepers > MOST_SLEEPERS)
			tap_bail("more than %d sleepers", MOST_SLEEPERS);
		s->futex = futex;
		s->flags = flags;
		s->tid = 0;
		start_thread(&s->thread, sleeper_thread, s);
		asleep_on(&s->tid, futex);
	}
}

/*
 * sleepers_wake - wake at most @nr, and wait until they return. Return: how
 * many
 */
static inline int sleepers_wake(const void *futex, int flags, int nr)
{
	int before = nr_returned;
	int woken = sys_futex_wake(futex, flags, nr);

	if (woken > 0)
		reached(&nr_returned, before + woken);
	return woken;
}

/* sleepers_end - join all threads, which must be about to return */
static inline void sleepers_end(void)
{
	reached(&nr_returned, nr_sleepers);
	while (nr_sleepers)
		pthread_join(sleepers[--nr_sleepers].thread, NULL);
	nr_returned = 0;
}
