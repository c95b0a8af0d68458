// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queue keeps its order: the first in line is woken, the others are moved
 * in line, behind those of their priority who wait at the target already;
 * waiters of a higher real-time priority stay ahead of all. But if both futexes
 * share a bucket of the kernel nobody changes places: who came first is ahead.
 */
#include "run.h"
#include "sleepers.h"

#define NR_WAITERS 6
#define FLAGS	   FUTEX_PRIVATE_FLAG

/* With a few buckets only, one of these is in another one than @from. */
#define NR_TARGETS 64

static uint32_t from, to, targets[NR_TARGETS];

/* Wakes one at a time at @futex; whether waiters @expected come, in order. */
static bool come_in_order(struct sleepers *sleepers, const uint32_t *futex,
			  const int *expected, int nr)
{
	bool in_order = true;

	for (int i = 0; i < nr; i++) {
		int woken = sleepers_wake_one(sleepers, futex, FLAGS);

		if (woken == expected[i])
			continue;
		tap_diag("place %d: waiter %d, expected %d", i, woken,
			 expected[i]);
		in_order = false;
	}
	return in_order;
}

static void test_one_call(const struct requeue_op *op)
{
	static const int rest[] = { 1, 2, 3, 4, 5 };
	struct sleepers sleepers = sleepers_of(NR_WAITERS);

	sleepers_fill(&sleepers, NR_WAITERS, &from, FLAGS);
	op->requeue(&from, &to, FLAGS, 1, INT_MAX);
	sleepers_returned(&sleepers, 1);
	tap_ok(sleepers_of_turn(&sleepers, 0) == 0 &&
		       come_in_order(&sleepers, &to, rest, NR_WAITERS - 1),
	       "%s: first woken, others in line", op->name);
	sleepers_end(&sleepers);
}

/* Two at a time: what is moved later stands behind what was moved before. */
static void test_pieces(const struct requeue_op *op)
{
	static const int all[] = { 0, 1, 2, 3, 4, 5 };
	struct sleepers sleepers = sleepers_of(NR_WAITERS);

	sleepers_fill(&sleepers, NR_WAITERS, &from, FLAGS);
	for (int i = 0; i < NR_WAITERS / 2; i++)
		op->requeue(&from, &to, FLAGS, 0, 2);
	tap_ok(come_in_order(&sleepers, &to, all, NR_WAITERS), "%s: in pieces",
	       op->name);
	sleepers_end(&sleepers);
}

/* In which order all come that wait at @futex. */
static void come(struct sleepers *sleepers, const uint32_t *futex, int *order)
{
	for (int i = 0; i < NR_WAITERS; i++)
		order[i] = sleepers_wake_one(sleepers, futex, FLAGS);
}

static bool same_order(const int *order, const int *expected)
{
	return !memcmp(order, expected, NR_WAITERS * sizeof(*order));
}

/**
 * struct joining - waiters that move to where others wait
 * @fill: makes some wait at @from and some at @target
 * @apart: the order in which all come then
 * @within: the same if both are in one bucket
 */
struct joining {
	void (*fill)(struct sleepers *sleepers, const uint32_t *target);
	int apart[NR_WAITERS], within[NR_WAITERS];
};

/* User space cannot compute the hash: try targets until one is in another bucket. */
static bool joins_in_order(const struct requeue_op *op,
			   const struct joining *joining)
{
	int order[NR_WAITERS];

	for (int i = 0; i < NR_TARGETS; i++) {
		struct sleepers sleepers = sleepers_of(NR_WAITERS);

		joining->fill(&sleepers, &targets[i]);
		op->requeue(&from, &targets[i], FLAGS, 0, INT_MAX);
		come(&sleepers, &targets[i], order);
		sleepers_end(&sleepers);
		if (same_order(order, joining->apart))
			return true;
		if (!same_order(order, joining->within))
			break;
	}
	for (int i = 0; i < NR_WAITERS; i++)
		tap_diag("place %d: waiter %d, expected %d", i, order[i],
			 joining->apart[i]);
	return false;
}

static void fill_both(struct sleepers *sleepers, const uint32_t *target)
{
	sleepers_fill(sleepers, NR_WAITERS / 2, &from, FLAGS);
	sleepers_fill(sleepers, NR_WAITERS / 2, target, FLAGS);
}

static void test_behind(const struct requeue_op *op)
{
	static const struct joining joining = {
		.fill = fill_both,
		.apart = { 3, 4, 5, 0, 1, 2 },
		.within = { 0, 1, 2, 3, 4, 5 },
	};

	tap_ok(joins_in_order(op, &joining), "%s: behind those at the target",
	       op->name);
}

static void wait_with_priority(struct sleepers *sleepers, const uint32_t *futex,
			       int rt_priority)
{
	const struct waiter wait = {
		.futex = futex,
		.flags = FLAGS,
		.bitset = FUTEX_BITSET_MATCH_ANY,
		.rt_priority = rt_priority,
	};

	sleepers_asleep(sleepers_start(sleepers, &wait));
}

static void fill_by_priority(struct sleepers *sleepers, const uint32_t *target)
{
	static const int priority[] = { 0, 10, 0, 20, 20, 0 };
	static const bool at_target[NR_WAITERS] = { [2] = true, [3] = true };

	for (int i = 0; i < NR_WAITERS; i++)
		wait_with_priority(sleepers, at_target[i] ? target : &from,
				   priority[i]);
}

static void test_priority(const struct requeue_op *op)
{
	static const struct joining joining = {
		.fill = fill_by_priority,
		.apart = { 3, 4, 1, 2, 0, 5 },
		.within = { 3, 4, 1, 0, 2, 5 },
	};

	tap_ok(joins_in_order(op, &joining), "%s: by real-time priority",
	       op->name);
}

/* The woken one too is the one of the highest priority, not the oldest. */
static void test_priority_woken(const struct requeue_op *op)
{
	static const int rest[] = { 0, 1 };
	struct sleepers sleepers = sleepers_of(3);

	wait_with_priority(&sleepers, &from, 0);
	wait_with_priority(&sleepers, &from, 0);
	wait_with_priority(&sleepers, &from, 10);
	op->requeue(&from, &to, FLAGS, 1, INT_MAX);
	sleepers_returned(&sleepers, 1);
	tap_ok(sleepers_of_turn(&sleepers, 0) == 2 &&
		       come_in_order(&sleepers, &to, rest, 2),
	       "%s: wakes the highest priority", op->name);
	sleepers_end(&sleepers);
}

static bool may_use_fifo(void)
{
	struct sched_param fifo = { .sched_priority = 1 };
	struct sched_param other = { .sched_priority = 0 };

	if (sched_setscheduler(0, SCHED_FIFO, &fifo))
		return false;
	return sched_setscheduler(0, SCHED_OTHER, &other) == 0;
}

static void test_op(const struct requeue_op *op)
{
	static const char why[] = "SCHED_FIFO is not permitted to this user";

	test_one_call(op);
	test_pieces(op);
	test_behind(op);
	if (may_use_fifo()) {
		test_priority(op);
		test_priority_woken(op);
	} else {
		tap_skip("by real-time priority", why);
		tap_skip("wakes the highest priority", why);
	}
}

int main(void)
{
	return requeue_main(test_op, 5);
}
