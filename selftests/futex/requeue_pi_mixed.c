// SPDX-License-Identifier: GPL-2.0-only
/*
 * A waiter that wants a PI futex (FUTEX_WAIT_REQUEUE_PI, FUTEX_LOCK_PI) in
 * the line of an ordinary requeue is a mistake of the program: EINVAL. Those
 * in line before it have been woken and moved by then, it and those behind
 * it are left where they are; and the other way round.
 */
#include "run.h"
#include "sleepers.h"

#define FLAGS	  FUTEX_PRIVATE_FLAG
#define NR_BEFORE 3
#define NR_BEHIND 2

static uint32_t from, to, pi;

struct pi_waiter {
	pthread_t thread;
	atomic_int tid;
	long result;
};

static void *wait_requeue_pi(void *arg)
{
	struct pi_waiter *waiter = arg;

	atomic_store(&waiter->tid, blocked_gettid());
	waiter->result = sys_futex_wait_requeue_pi(&from, &pi, FLAGS, 0, NULL);
	if (!waiter->result)
		sys_futex_unlock_pi(&pi, FLAGS);
	return NULL;
}

static void start_pi(struct pi_waiter *waiter)
{
	*waiter = (struct pi_waiter){ .result = -1 };
	start_thread(&waiter->thread, wait_requeue_pi, waiter);
	if (wait_at_least(&waiter->tid, 1) ||
	    wait_blocked(getpid(), waiter->tid, &from))
		tap_bail("the PI waiter never slept");
}

/* The proper partner lets the PI waiter go, and it gets the lock. */
static void end_pi(struct pi_waiter *waiter, const char *name)
{
	tap_is(sys_futex_cmp_requeue_pi(&from, &pi, FLAGS, 1, 0, 0), 1,
	       "%s: the PI waiter still waits", name);
	pthread_join(waiter->thread, NULL);
	tap_is(waiter->result, 0, "%s: and gets its lock", name);
}

static void test_in_line(const struct requeue_op *op)
{
	struct sleepers sleepers = sleepers_of(NR_BEFORE + NR_BEHIND);
	struct pi_waiter waiter;

	sleepers_fill(&sleepers, NR_BEFORE, &from, FLAGS);
	start_pi(&waiter);
	sleepers_fill(&sleepers, NR_BEHIND, &from, FLAGS);
	tap_is(op->requeue(&from, &to, FLAGS, 1, INT_MAX), -EINVAL,
	       "%s: EINVAL in mid-line", op->name);
	sleepers_returned(&sleepers, 1);
	tap_is(sleepers_of_turn(&sleepers, 0), 0, "%s: the first was woken",
	       op->name);
	tap_is(sleepers_wake_all(&sleepers, &to, FLAGS), NR_BEFORE - 1,
	       "%s: those before it were moved", op->name);
	end_pi(&waiter, op->name);
	tap_is(sleepers_wake_all(&sleepers, &from, FLAGS), NR_BEHIND,
	       "%s: those behind it were not", op->name);
	sleepers_end(&sleepers);
}

/* A count that ends before the PI waiter never meets it. */
static void test_not_reached(const struct requeue_op *op)
{
	struct sleepers sleepers = sleepers_of(2);
	struct pi_waiter waiter;

	sleepers_fill(&sleepers, 2, &from, FLAGS);
	start_pi(&waiter);
	tap_is(op->requeue(&from, &to, FLAGS, 1, 1), 2,
	       "%s: not reached, no error", op->name);
	sleepers_returned(&sleepers, 1);
	sleepers_wake_all(&sleepers, &to, FLAGS);
	end_pi(&waiter, op->name);
	sleepers_end(&sleepers);
}

static void test_op(const struct requeue_op *op)
{
	test_in_line(op);
	test_not_reached(op);
}

/* An ordinary waiter where FUTEX_CMP_REQUEUE_PI expects a PI waiter. */
static void test_plain_waiter(void)
{
	struct sleepers sleepers = sleepers_of(1);

	sleepers_wait_on(&sleepers, &from, FLAGS);
	tap_is(sys_futex_cmp_requeue_pi(&from, &pi, FLAGS, 1, 0, 0), -EINVAL,
	       "FUTEX_CMP_REQUEUE_PI: ordinary waiter: EINVAL");
	tap_is(sleepers_wake_all(&sleepers, &from, FLAGS), 1,
	       "FUTEX_CMP_REQUEUE_PI: which still waits");
	sleepers_end(&sleepers);
}

/* FUTEX_CMP_REQUEUE_PI wakes one at most, and only one may be asked for. */
static void test_pi_counts(void)
{
	tap_is(sys_futex_cmp_requeue_pi(&from, &pi, FLAGS, 0, 1, 0), -EINVAL,
	       "FUTEX_CMP_REQUEUE_PI: wake 0: EINVAL");
	tap_is(sys_futex_cmp_requeue_pi(&from, &pi, FLAGS, 2, 1, 0), -EINVAL,
	       "FUTEX_CMP_REQUEUE_PI: wake 2: EINVAL");
	tap_is(sys_futex_cmp_requeue_pi(&from, &pi, FLAGS, 1, -1, 0), -EINVAL,
	       "FUTEX_CMP_REQUEUE_PI: requeue -1: EINVAL");
	tap_is(sys_futex_cmp_requeue_pi(&from, &pi, FLAGS, 1, 1, 5), -EAGAIN,
	       "FUTEX_CMP_REQUEUE_PI: other value: EAGAIN");
}

int main(void)
{
	if (variant_is("none"))
		return requeue_absent_main();
	tap_plan(NR_REQUEUE_OPS * 9 + 6);
	for_each_requeue_op(test_op, 9);
	test_plain_waiter();
	test_pi_counts();
	return tap_exit();
}
