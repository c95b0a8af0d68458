// SPDX-License-Identifier: GPL-2.0-only
/*
 * The operations that compare do nothing at all when the word has changed,
 * and everything when it has not; FUTEX_REQUEUE does not look at it.
 */
#include "run.h"
#include "sleepers.h"

#define NR_WAITERS 3
#define FLAGS	   FUTEX_PRIVATE_FLAG
#define NOT_ZERO   17

static uint32_t from, to;

static bool compares(const struct requeue_op *op)
{
	return op->requeue != op_requeue;
}

/* The word is not 0, which is what @op compares it to. */
static void test_changed(const struct requeue_op *op)
{
	struct sleepers sleepers = sleepers_of(NR_WAITERS);

	sleepers_fill(&sleepers, NR_WAITERS, &from, FLAGS);
	from = NOT_ZERO;
	tap_is(op->requeue(&from, &to, FLAGS, 1, NR_WAITERS),
	       compares(op) ? -EAGAIN : NR_WAITERS, "%s: the word has changed",
	       op->name);
	from = 0;
	if (!compares(op))
		sleepers_returned(&sleepers, 1);
	tap_is(sleepers_wake_all(&sleepers, &to, FLAGS),
	       compares(op) ? 0 : NR_WAITERS - 1, "%s: then at the target",
	       op->name);
	tap_is(sleepers_wake_all(&sleepers, &from, FLAGS),
	       compares(op) ? NR_WAITERS : 0, "%s: then at the source",
	       op->name);
	sleepers_end(&sleepers);
}

static void test_same(const struct requeue_op *op)
{
	struct sleepers sleepers = sleepers_of(1);

	sleepers_wait_on(&sleepers, &from, FLAGS);
	tap_is(op->requeue(&from, &to, FLAGS, 0, 1), 1,
	       "%s: the word has not changed", op->name);
	sleepers_wake_all(&sleepers, &to, FLAGS);
	sleepers_end(&sleepers);
}

/* The target's value never matters. */
static void test_target(const struct requeue_op *op)
{
	struct sleepers sleepers = sleepers_of(1);

	sleepers_wait_on(&sleepers, &from, FLAGS);
	to = NOT_ZERO;
	tap_is(op->requeue(&from, &to, FLAGS, 0, 1), 1,
	       "%s: any word at the target", op->name);
	to = 0;
	sleepers_wake_all(&sleepers, &to, FLAGS);
	sleepers_end(&sleepers);
}

static void test_op(const struct requeue_op *op)
{
	test_changed(op);
	test_same(op);
	test_target(op);
}

/* What is compared is the value given, not zero. */
static void test_value(void)
{
	struct sleepers sleepers = sleepers_of(1);

	sleepers_wait_on(&sleepers, &from, FLAGS);
	from = NOT_ZERO;
	tap_is(sys_futex_cmp_requeue(&from, &to, FLAGS, 0, 1, 0), -EAGAIN,
	       "FUTEX_CMP_REQUEUE: zero is not the value");
	tap_is(sys_futex_cmp_requeue(&from, &to, FLAGS, 0, 1, NOT_ZERO), 1,
	       "FUTEX_CMP_REQUEUE: the value is");
	from = 0;
	sleepers_wake_all(&sleepers, &to, FLAGS);
	sleepers_end(&sleepers);
}

int main(void)
{
	if (variant_is("none"))
		return requeue_absent_main();
	tap_plan(NR_REQUEUE_OPS * 5 + 2);
	for_each_requeue_op(test_op, 5);
	test_value();
	return tap_exit();
}
