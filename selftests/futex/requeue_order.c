// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who is moved stands behind those of its priority who wait at the target
 * already; waiters of a higher real-time priority stay ahead of all. But if both
 * futexes share a bucket of the kernel nobody changes places: who came first is
 * ahead. User space cannot compute the hash, so there are many targets.
 */
#include "steps.h"

#define NR_WAITERS    6
#define NR_SWEPT      4
#define NR_BYSTANDERS 8
/* With a few buckets only, one of these is in another one than @from. */
#define NR_TARGETS 64

static uint32_t *targets;
static int nr_targets;

/* rt WORD PRIORITY */
STEP(rt)
{
	sleepers_asleep(sleepers_start(
		&sleepers, &(struct waiter){ .futex = &futexes[args[0]],
					     .flags = flags,
					     .rt_priority = args[1] }));
	return 0;
}

static bool may_use_fifo(void)
{
	struct sched_param fifo = { .sched_priority = 1 };
	struct sched_param other = { .sched_priority = 0 };

	if (sched_setscheduler(0, SCHED_FIFO, &fifo))
		return false;
	return sched_setscheduler(0, SCHED_OTHER, &other) == 0;
}

/**
 * struct meeting - waiters that move to where others wait
 * @fill: makes six wait, some at each futex
 * @apart: the order in which all come then
 * @within: the same if both are in one bucket
 */
struct meeting {
	const char *fill;
	int apart[NR_WAITERS], within[NR_WAITERS];
};

static const struct meeting equals = {
	.fill = "wait from 3; wait to 3",
	.apart = { 3, 4, 5, 0, 1, 2 },
	.within = { 0, 1, 2, 3, 4, 5 },
};

static const struct meeting by_priority = {
	.fill = "rt from 0; rt from 10; rt to 0; rt to 20; rt from 20;"
		"rt from 0",
	.apart = { 3, 4, 1, 2, 0, 5 },
	.within = { 3, 4, 1, 0, 2, 5 },
};

static bool same_order(const int *order, const int *expected)
{
	return !memcmp(order, expected, NR_WAITERS * sizeof(*order));
}

/* Try targets until one is in another bucket. */
static bool meet_in_order(const struct meeting *meeting)
{
	int order[NR_WAITERS];

	for (int i = 0; i < NR_TARGETS; i++) {
		/* futexes[TO] is another one each time. */
		futexes = &targets[2 * i];
		aliases = futexes;
		sleepers = sleepers_of(NR_WAITERS);
		steps_do(meeting->fill);
		op->requeue(&futexes[FROM], &futexes[TO], flags, 0, INT_MAX);
		for (int place = 0; place < NR_WAITERS; place++)
			order[place] = do_one((long[]){ TO });
		sleepers_end(&sleepers);
		if (same_order(order, meeting->apart))
			return true;
		if (!same_order(order, meeting->within))
			break;
	}
	for (int i = 0; i < NR_WAITERS; i++)
		tap_diag("place %d: waiter %d, expected %d", i, order[i],
			 meeting->apart[i]);
	return false;
}

/*
 * From futex to futex, over so many that some neighbours share a bucket: with B
 * buckets one pair in B does, and there are 256 for each possible CPU, less with a
 * private hash. Bystanders sleep in the same buckets as some.
 */
static void test_sweep(const char *kind)
{
	static uint32_t own[NR_BYSTANDERS];
	struct sleepers bystanders = sleepers_of(NR_BYSTANDERS);
	uint32_t *last = &targets[nr_targets - 1];
	bool in_order = true;
	long nr_wrong = 0;

	for (int i = 0; i < NR_BYSTANDERS; i++)
		sleepers_wait_on(&bystanders, &own[i], flags);
	sleepers = sleepers_of(NR_SWEPT);
	sleepers_fill(&sleepers, NR_SWEPT, targets, flags);
	for (int i = 0; i + 1 < nr_targets; i++)
		nr_wrong += op->requeue(&targets[i], &targets[i + 1], flags, 0,
					NR_SWEPT) != NR_SWEPT;
	tap_is(nr_wrong, 0, "%s, %s: %d moves of all", op->name, kind,
	       nr_targets - 1);
	for (int i = 0; i < NR_SWEPT; i++)
		in_order &= sleepers_wake_one(&sleepers, last, flags) == i;
	tap_ok(in_order, "%s, %s: all came, in order", op->name, kind);
	sleepers_end(&sleepers);

	tap_is(bystanders.nr_returned, 0, "%s, %s: no bystander was woken",
	       op->name, kind);
	for (int i = 0; i < NR_BYSTANDERS; i++)
		sleepers_wake_all(&bystanders, &own[i], flags);
	sleepers_end(&bystanders);
}

static void test_op(const struct requeue_op *which)
{
	op = which;
	flags = 0;
	test_sweep("shared");
	flags = FUTEX_PRIVATE_FLAG;
	test_sweep("private");
	tap_ok(meet_in_order(&equals), "%s: behind those at the target",
	       op->name);
	if (!may_use_fifo()) {
		tap_skip_all(2, "by real-time priority",
			     "SCHED_FIFO is not permitted to this user");
		return;
	}
	tap_ok(meet_in_order(&by_priority), "%s: by real-time priority",
	       op->name);
	tap_ok(steps_hold("rt from 0; rt from 0; rt from 10;"
			  "requeue from to 1 max = 3; gone 1;"
			  "turn 0 = 2; line to 0 1 = 1"),
	       "%s: wakes the highest priority", op->name);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "words");

	nr_targets = args_get(&args, "words", 16384);
	targets = calloc(nr_targets, sizeof(*targets));
	if (nr_targets < 2 * NR_TARGETS + NR_WORDS || !targets)
		tap_bail("words=%d: too few, or no memory", nr_targets);
	return requeue_main(test_op, 9);
}
