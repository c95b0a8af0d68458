/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sleepers.h - threads asleep on futexes, each waiting once
 *
 *	sleepers_fill(8, &from, 0);	// asleep when this returns
 *	moved = sys_futex_requeue(&from, &to, 0, 1, INT_MAX);
 *	sleepers_wake_all(&to, 0);
 *	sleepers_end();
 *
 * They are numbered from 0 in the order in which they went to sleep, which is
 * their order in the futex's queue. Each publishes its turn, then counts itself
 * in nr_returned. Everything is bounded: what never comes ends the program with
 * "Bail out!".
 */
#ifndef DROVER_SELFTESTS_FUTEX_SLEEPERS_H
#define DROVER_SELFTESTS_FUTEX_SLEEPERS_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "blocked.h"
#include "futex_call.h"
#include "run.h"
#include "tap.h"

#define MOST_SLEEPERS 1000

static struct sleeper {
	pthread_t thread;
	atomic_int tid; /* 0 until the thread runs */
	const void *futex;
	int flags;
	uint32_t bitset;
	atomic_int turn; /* how many returned before; -1: still waiting */
} sleepers[MOST_SLEEPERS];

static int nr_sleepers;
static atomic_int next_turn, nr_returned;

static inline void *sleeper_thread(void *arg)
{
	struct sleeper *s = arg;

	s->tid = blocked_gettid();
	sys_futex_wait_bitset(s->futex, s->flags, 0, NULL, s->bitset);
	s->turn = next_turn++;
	nr_returned++;
	return NULL;
}

/* sleepers_add - one more that a wake with any of these bits finds */
static inline void sleepers_add(const void *futex, int flags, uint32_t bitset)
{
	struct sleeper *s = &sleepers[nr_sleepers++];

	if (nr_sleepers > MOST_SLEEPERS)
		tap_bail("more than %d sleepers", MOST_SLEEPERS);
	*s = (struct sleeper){
		.futex = futex, .flags = flags, .bitset = bitset, .turn = -1
	};
	start_thread(&s->thread, sleeper_thread, s);
	asleep_on(&s->tid, futex);
}

static inline void sleepers_fill(int nr, const void *futex, int flags)
{
	while (nr--)
		sleepers_add(futex, flags, FUTEX_BITSET_MATCH_ANY);
}

/* sleepers_of_turn - the number of the one that returned as number @turn */
static inline int sleepers_of_turn(int turn)
{
	for (int i = 0; i < nr_sleepers; i++)
		if (sleepers[i].turn == turn)
			return i;
	return -1;
}

/* sleepers_wake_one - the number of the one that is woken, or -1 */
static inline int sleepers_wake_one(const void *futex, int flags)
{
	int turn = nr_returned;

	if (sys_futex_wake(futex, flags, 1) != 1)
		return -1;
	reached(&nr_returned, turn + 1);
	return sleepers_of_turn(turn);
}

/* sleepers_wake_all - how many there were */
static inline int sleepers_wake_all(const void *futex, int flags)
{
	int before = nr_returned;
	int woken = sys_futex_wake(futex, flags, INT_MAX);

	if (woken > 0)
		reached(&nr_returned, before + woken);
	return woken;
}

/* sleepers_end - join all, which must be about to return */
static inline void sleepers_end(void)
{
	reached(&nr_returned, nr_sleepers);
	while (nr_sleepers)
		pthread_join(sleepers[--nr_sleepers].thread, NULL);
	next_turn = nr_returned = 0;
}

/* requeue_main - what main() returns that has @nr_results for each operation */
static inline int requeue_main(void (*test)(const struct requeue_op *op),
			       int nr_results)
{
	if (variant_is("none"))
		return sanitizer_skips("requeue", "see requeue_absent");
	tap_plan(NR_REQUEUE_OPS * nr_results);
	for (int i = 0; i < NR_REQUEUE_OPS; i++) {
		const struct requeue_op *op = &requeue_ops[i];

		if (!variant_is_host() || requeue_op_exists(op))
			test(op);
		else
			tap_skip_all(nr_results, op->name,
				     "not in this kernel");
	}
	return tap_exit();
}

#endif /* DROVER_SELFTESTS_FUTEX_SLEEPERS_H */
