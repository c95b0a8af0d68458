// SPDX-License-Identifier: GPL-2.0-only
/*
 * A futex_waitv(2) caller waits on several futexes at once. One of its
 * entries can be moved: a wake at the target is then a wake of that entry,
 * and all its other entries go with it.
 */
#include "run.h"
#include "sleepers.h"

#define FLAGS FUTEX_PRIVATE_FLAG

static uint32_t from, to, second;

struct vector_waiter {
	struct futex_waitv futexes[2];
	pthread_t thread;
	atomic_int tid;
	long result;
};

static void *wait_on_both(void *arg)
{
	struct vector_waiter *waiter = arg;

	atomic_store(&waiter->tid, blocked_gettid());
	waiter->result =
		sys_futex_waitv(waiter->futexes, 2, NULL, CLOCK_MONOTONIC);
	return NULL;
}

static void start(struct vector_waiter *waiter)
{
	*waiter = (struct vector_waiter){ .result = -1 };
	waiter->futexes[0].uaddr = (uintptr_t)&second;
	waiter->futexes[0].flags = FUTEX2_SIZE_U32 | FUTEX2_PRIVATE;
	waiter->futexes[1].uaddr = (uintptr_t)&from;
	waiter->futexes[1].flags = FUTEX2_SIZE_U32 | FUTEX2_PRIVATE;
	start_thread(&waiter->thread, wait_on_both, waiter);
	if (wait_at_least(&waiter->tid, 1) ||
	    wait_blocked(getpid(), waiter->tid, waiter->futexes))
		tap_bail("the futex_waitv caller never slept");
}

static void test_woken_at_target(const struct requeue_op *op)
{
	struct vector_waiter waiter;

	start(&waiter);
	tap_is(op->requeue(&from, &to, FLAGS, 0, INT_MAX), 1,
	       "%s: one entry moved", op->name);
	tap_is(sys_futex_wake(&from, FLAGS, 1), 0, "%s: left the source",
	       op->name);
	tap_is(sys_futex_wake(&to, FLAGS, 1), 1, "%s: woken at the target",
	       op->name);
	pthread_join(waiter.thread, NULL);
	tap_is(waiter.result, 1, "%s: index of the moved entry", op->name);
	tap_is(sys_futex_wake(&second, FLAGS, 1), 0,
	       "%s: nothing left at the other futex", op->name);
}

static void test_woken_elsewhere(const struct requeue_op *op)
{
	struct vector_waiter waiter;

	start(&waiter);
	op->requeue(&from, &to, FLAGS, 0, INT_MAX);
	tap_is(sys_futex_wake(&second, FLAGS, 1), 1,
	       "%s: woken at the other futex", op->name);
	pthread_join(waiter.thread, NULL);
	tap_is(waiter.result, 0, "%s: index of the other entry", op->name);
	tap_is(sys_futex_wake(&to, FLAGS, 1), 0,
	       "%s: nothing left at the target", op->name);
}

/* Woken by the requeue itself, with a plain waiter behind that is moved. */
static void test_woken_by_requeue(const struct requeue_op *op)
{
	struct vector_waiter waiter;
	struct sleepers sleepers = sleepers_of(1);

	start(&waiter);
	sleepers_wait_on(&sleepers, &from, FLAGS);
	tap_is(op->requeue(&from, &to, FLAGS, 1, INT_MAX), 2,
	       "%s: one woken, one moved", op->name);
	pthread_join(waiter.thread, NULL);
	tap_is(waiter.result, 1, "%s: woken at the source", op->name);
	tap_is(sleepers_wake_all(&sleepers, &to, FLAGS), 1,
	       "%s: the plain waiter was moved", op->name);
	sleepers_end(&sleepers);
}

static void test_op(const struct requeue_op *op)
{
	test_woken_at_target(op);
	test_woken_elsewhere(op);
	test_woken_by_requeue(op);
}

int main(void)
{
	if (variant_is("none"))
		return requeue_absent_main();
	tap_plan(NR_REQUEUE_OPS * 11);
	if (sys_futex_waitv(NULL, 0, NULL, 0) == -ENOSYS && variant_is_host()) {
		for (int i = 0; i < NR_REQUEUE_OPS * 11; i++)
			tap_skip("futex_waitv", "not in this kernel");
		return tap_exit();
	}
	for_each_requeue_op(test_op, 11);
	return tap_exit();
}
