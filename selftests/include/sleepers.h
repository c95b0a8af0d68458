/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sleepers.h - threads asleep on futexes
 */
#ifndef DROVER_SELFTESTS_SLEEPERS_H
#define DROVER_SELFTESTS_SLEEPERS_H

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "blocked.h"
#include "futex_call.h"
#include "run.h"
#include "tap.h"

/*
 * A number of threads asleep on futexes, each waiting once
 *
 *	struct sleepers sleepers = sleepers_of(8);
 *
 *	for (int i = 0; i < 8; i++)
 *		sleepers_wait_on(&sleepers, &from, 0);	// asleep when this returns
 *	moved = sys_futex_requeue(&from, &to, 0, 1, INT_MAX);
 *	sleepers_wake_all(&sleepers, &to, 0);
 *	sleepers_end(&sleepers);
 *
 * Waiters are numbered from 0 in the order in which they went to sleep,
 * which is their order in the futex's queue. Each publishes its result, then
 * counts itself in nr_returned. Everything is bounded: what never comes
 * ends the program with "Bail out!".
 */

struct sleepers;

struct waiter {
	struct sleepers *sleepers;
	pthread_t thread;
	atomic_int tid; /* 0 until the thread runs */

	/* What to wait for; written before the thread starts. */
	const void *futex;
	int flags;
	uint32_t bitset;
	const struct timespec *deadline; /* absolute, NULL: none */
	int rt_priority;		 /* 0: SCHED_OTHER */
	/* Another call, with @futex for its first argument; or NULL. */
	long (*call)(struct waiter *waiter);

	/* Written by the thread before it counts itself in nr_returned. */
	long result;
	atomic_int turn; /* how many returned before; -1: still waiting */
};

struct sleepers {
	struct waiter *waiters;
	int nr;
	int max;
	atomic_int next_turn;
	atomic_int nr_returned;
};

static inline struct sleepers sleepers_of(int max)
{
	struct sleepers sleepers = {
		.waiters = calloc(max, sizeof(*sleepers.waiters)),
		.max = max,
	};

	if (!sleepers.waiters)
		tap_bail("no memory for %d waiters", max);
	return sleepers;
}

static inline void *sleepers_thread(void *arg)
{
	struct waiter *waiter = arg;
	struct sleepers *sleepers = waiter->sleepers;

	if (waiter->rt_priority) {
		struct sched_param param = {
			.sched_priority = waiter->rt_priority,
		};

		sched_setscheduler(0, SCHED_FIFO, &param);
	}
	waiter->tid = blocked_gettid();
	if (waiter->call)
		waiter->result = waiter->call(waiter);
	else
		waiter->result = sys_futex_wait_bitset(
			waiter->futex, waiter->flags, 0, waiter->deadline,
			waiter->bitset ? waiter->bitset :
					 FUTEX_BITSET_MATCH_ANY);
	waiter->turn = atomic_fetch_add(&sleepers->next_turn, 1);
	sleepers->nr_returned++;
	return NULL;
}

/*
 * sleepers_start - start @wait, as its first fields have it, in a thread; it
 * waits while the futex word is 0. No bitset is all of them.
 */
static inline struct waiter *sleepers_start(struct sleepers *sleepers,
					    const struct waiter *wait)
{
	struct waiter *waiter = &sleepers->waiters[sleepers->nr];

	if (sleepers->nr == sleepers->max)
		tap_bail("more than %d waiters in this sleepers",
			 sleepers->max);
	sleepers->nr++;
	*waiter = *wait;
	waiter->sleepers = sleepers;
	atomic_init(&waiter->turn, -1);
	start_thread(&waiter->thread, sleepers_thread, waiter);
	reached(&waiter->tid, 1);
	return waiter;
}

/* sleepers_asleep - wait until @waiter sleeps in its system call */
static inline void sleepers_asleep(struct waiter *waiter)
{
	asleep_on(&waiter->tid, waiter->futex);
}

/* sleepers_wait_on - one more waiter, asleep on @futex when this returns */
static inline struct waiter *sleepers_wait_on(struct sleepers *sleepers,
					      const void *futex, int flags)
{
	const struct waiter wait = {
		.futex = futex,
		.flags = flags,
	};
	struct waiter *waiter = sleepers_start(sleepers, &wait);

	sleepers_asleep(waiter);
	return waiter;
}

/* sleepers_fill - @nr more waiters on @futex, asleep in this order */
static inline void sleepers_fill(struct sleepers *sleepers, int nr,
				 const void *futex, int flags)
{
	while (nr--)
		sleepers_wait_on(sleepers, futex, flags);
}

/* sleepers_returned - wait until @nr waiters have returned altogether */
static inline void sleepers_returned(struct sleepers *sleepers, int nr)
{
	reached(&sleepers->nr_returned, nr);
}

/* sleepers_of_turn - the number of the waiter that returned as number @turn */
static inline int sleepers_of_turn(struct sleepers *sleepers, int turn)
{
	for (int i = 0; i < sleepers->nr; i++)
		if (sleepers->waiters[i].turn == turn)
			return i;
	return -1;
}

/*
 * sleepers_wake_one - wake one waiter of @futex and let it return
 *
 * Returns its number, or -1 when the kernel says that nobody waits there.
 */
static inline int sleepers_wake_one(struct sleepers *sleepers,
				    const void *futex, int flags)
{
	int turn = sleepers->nr_returned;

	if (sys_futex_wake(futex, flags, 1) != 1)
		return -1;
	sleepers_returned(sleepers, turn + 1);
	return sleepers_of_turn(sleepers, turn);
}

/* sleepers_wake_all - wake all waiters of @futex; how many there were */
static inline int sleepers_wake_all(struct sleepers *sleepers,
				    const void *futex, int flags)
{
	int before = sleepers->nr_returned;
	int woken = sys_futex_wake(futex, flags, INT_MAX);

	if (woken > 0)
		sleepers_returned(sleepers, before + woken);
	return woken;
}

/* sleepers_count - how many waiters returned with @result */
static inline int sleepers_count(struct sleepers *sleepers, long result)
{
	int count = 0;

	for (int i = 0; i < sleepers->nr; i++)
		if (sleepers->waiters[i].turn >= 0 &&
		    sleepers->waiters[i].result == result)
			count++;
	return count;
}

/* sleepers_end - join all waiters, which must be about to return */
static inline void sleepers_end(struct sleepers *sleepers)
{
	sleepers_returned(sleepers, sleepers->nr);
	for (int i = 0; i < sleepers->nr; i++)
		pthread_join(sleepers->waiters[i].thread, NULL);
	free(sleepers->waiters);
	*sleepers = (struct sleepers){ 0 };
}

/*
 * What must hold on `none`: every requeue answers ENOSYS and leaves the waiters
 * alone. Every test of requeue tests that there, instead of skipping.
 *
 *	int main(void)
 *	{
 *		return requeue_main(test_op, 3);
 *	}
 */

/*
 * for_each_requeue_op - run @test, which reports @nr_results results, with
 * every way to requeue; what an older kernel of the host lacks is skipped
 */
static inline void
for_each_requeue_op(void (*test)(const struct requeue_op *op), int nr_results)
{
	for (int i = 0; i < NR_REQUEUE_OPS; i++) {
		const struct requeue_op *op = &requeue_ops[i];

		if (!variant_is_host() || requeue_op_exists(op)) {
			test(op);
			continue;
		}
		for (int result = 0; result < nr_results; result++)
			tap_skip(op->name, "not in this kernel");
	}
}

static inline void requeue_absent(const struct requeue_op *op, int flags)
{
	const char *kind = flags ? "private" : "shared";
	static uint32_t from, to;
	struct sleepers sleepers = sleepers_of(1);

	sleepers_wait_on(&sleepers, &from, flags);
	tap_is(op->requeue(&from, &to, flags, 1, 1), -ENOSYS, "%s, %s: ENOSYS",
	       op->name, kind);
	tap_is(sys_futex_wake(&to, flags, 1), 0, "%s, %s: nobody was moved",
	       op->name, kind);
	tap_is(sleepers_wake_all(&sleepers, &from, flags), 1,
	       "%s, %s: the waiter still waits", op->name, kind);
	sleepers_end(&sleepers);
}

/* requeue_absent_main - what main() does on a kernel without requeue */
static inline int requeue_absent_main(void)
{
	tap_plan(NR_REQUEUE_OPS * 2 * 3);
	for (int i = 0; i < NR_REQUEUE_OPS; i++) {
		requeue_absent(&requeue_ops[i], 0);
		requeue_absent(&requeue_ops[i], FUTEX_PRIVATE_FLAG);
	}
	return tap_exit();
}

/* requeue_main - what main() returns that has @nr_results for each operation */
static inline int requeue_main(void (*test)(const struct requeue_op *op),
			       int nr_results)
{
	if (variant_is("none"))
		return requeue_absent_main();
	tap_plan(NR_REQUEUE_OPS * nr_results);
	for_each_requeue_op(test, nr_results);
	return tap_exit();
}

#endif /* DROVER_SELFTESTS_SLEEPERS_H */
