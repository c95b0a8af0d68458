// SPDX-License-Identifier: GPL-2.0-only
/*
 * A signal takes a moved waiter out of the target's queue. Without SA_RESTART
 * the call returns EINTR; with it the kernel makes the same call again, and
 * the thread sleeps at the source, where its arguments still point.
 */
#include <signal.h>

#include "tap.h"
#include "run.h"
#include "sleepers.h"

#define FLAGS FUTEX_PRIVATE_FLAG

static uint32_t from, to;
static atomic_int nr_handled;

static void handle(int signal)
{
	(void)signal;
	atomic_fetch_add(&nr_handled, 1);
}

static void interrupt(struct waiter *waiter, int sa_flags)
{
	struct sigaction action = {
		.sa_handler = handle,
		.sa_flags = sa_flags,
	};

	sigaction(SIGUSR1, &action, NULL);
	atomic_store(&nr_handled, 0);
	pthread_kill(waiter->thread, SIGUSR1);
	if (wait_at_least(&nr_handled, 1))
		tap_bail("the signal was never handled");
}

static void test_restart(const struct requeue_op *op)
{
	struct sleepers sleepers = sleepers_of(1);
	struct waiter *waiter = sleepers_wait_on(&sleepers, &from, FLAGS);

	op->requeue(&from, &to, FLAGS, 0, 1);
	interrupt(waiter, SA_RESTART);
	sleepers_asleep(waiter);
	tap_is(sys_futex_wake(&to, FLAGS, 1), 0,
	       "%s: SA_RESTART: no longer at the target", op->name);
	tap_is(sleepers_wake_all(&sleepers, &from, FLAGS), 1,
	       "%s: SA_RESTART: at the source again", op->name);
	tap_is(waiter->result, 0, "%s: SA_RESTART: woken once", op->name);
	sleepers_end(&sleepers);
}

static void test_restart_compares(const struct requeue_op *op)
{
	struct sleepers sleepers = sleepers_of(1);
	struct waiter *waiter = sleepers_wait_on(&sleepers, &from, FLAGS);

	op->requeue(&from, &to, FLAGS, 0, 1);
	from = 1;
	interrupt(waiter, SA_RESTART);
	sleepers_returned(&sleepers, 1);
	from = 0;
	tap_is(waiter->result, -EAGAIN,
	       "%s: SA_RESTART: EAGAIN if the word has changed", op->name);
	sleepers_end(&sleepers);
}

/* One of three is interrupted; the others stay in line. */
static void test_interrupted(const struct requeue_op *op)
{
	struct sleepers sleepers = sleepers_of(3);

	sleepers_fill(&sleepers, 3, &from, FLAGS);
	op->requeue(&from, &to, FLAGS, 0, INT_MAX);
	interrupt(&sleepers.waiters[1], 0);
	sleepers_returned(&sleepers, 1);
	tap_is(sleepers.waiters[1].result, -EINTR, "%s: EINTR", op->name);
	tap_ok(sleepers_wake_one(&sleepers, &to, FLAGS) == 0 &&
		       sleepers_wake_one(&sleepers, &to, FLAGS) == 2 &&
		       sleepers_wake_one(&sleepers, &to, FLAGS) == -1,
	       "%s: the others in line, nothing left", op->name);
	sleepers_end(&sleepers);
}

static void test_op(const struct requeue_op *op)
{
	test_interrupted(op);
	test_restart(op);
	test_restart_compares(op);
}

int main(void)
{
	if (!HANDLERS_ARE_PROMPT)
		return handlers_are_late();
	return requeue_main(test_op, 6);
}
