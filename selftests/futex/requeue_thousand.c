// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thousand waiters: in one call, and in pieces of many sizes, with all
 * counted and none lost.
 */
#include "run.h"
#include "sleepers.h"

#define FLAGS FUTEX_PRIVATE_FLAG

static uint32_t from, to;
static int nr_waiters;

static void test_one_call(const struct requeue_op *op)
{
	struct sleepers sleepers = sleepers_of(nr_waiters);

	sleepers_fill(&sleepers, nr_waiters, &from, FLAGS);
	tap_is(op->requeue(&from, &to, FLAGS, 1, INT_MAX), nr_waiters,
	       "%s: %d in one call", op->name, nr_waiters);
	sleepers_returned(&sleepers, 1);
	tap_is(sleepers_wake_all(&sleepers, &to, FLAGS), nr_waiters - 1,
	       "%s: all but the woken one at the target", op->name);
	sleepers_end(&sleepers);
}

/* Pieces of 1, 2, 3 ... there, then all back in one call. */
static void test_pieces(const struct requeue_op *op)
{
	struct sleepers sleepers = sleepers_of(nr_waiters);
	int there = 0, piece = 0, woken = 0;
	long moved, back;

	sleepers_fill(&sleepers, nr_waiters, &from, FLAGS);
	while ((moved = op->requeue(&from, &to, FLAGS, 0, ++piece)) > 0)
		there += moved;
	back = op->requeue(&to, &from, FLAGS, 0, INT_MAX);
	while (sleepers_wake_one(&sleepers, &from, FLAGS) == woken)
		woken++;
	tap_ok(there == nr_waiters && back == nr_waiters,
	       "%s: %d pieces there, all back", op->name, piece - 1);
	tap_is(woken, nr_waiters, "%s: in line as they came", op->name);
	sleepers_end(&sleepers);
}

static void test_op(const struct requeue_op *op)
{
	test_one_call(op);
	test_pieces(op);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "waiters");

	nr_waiters = args_get(&args, "waiters", 1000);
	return requeue_main(test_op, 4);
}
