// SPDX-License-Identifier: GPL-2.0-only
/*
 * A waiter whose time runs out after it was moved returns ETIMEDOUT once and
 * leaves nothing behind at either futex; the others are not disturbed.
 */
#include "run.h"
#include "sleepers.h"

#define FLAGS FUTEX_PRIVATE_FLAG

static uint32_t from, to;

static struct timespec in_ns(int64_t ns)
{
	ns += blocked_now_ns();
	return (struct timespec){
		.tv_sec = ns / INT64_C(1000000000),
		.tv_nsec = ns % INT64_C(1000000000),
	};
}

/*
 * Between two waiters without a deadline: one with. Returns whether it was
 * moved before its time was up, which a slow machine may not manage.
 */
static bool times_out_at_target(const struct requeue_op *op, int64_t ns)
{
	const struct timespec deadline = in_ns(ns);
	const struct waiter wait = {
		.futex = &from,
		.flags = FLAGS,
		.bitset = FUTEX_BITSET_MATCH_ANY,
		.deadline = &deadline,
	};
	struct sleepers sleepers = sleepers_of(3);
	struct waiter *timed;
	long moved;

	sleepers_wait_on(&sleepers, &from, FLAGS);
	timed = sleepers_start(&sleepers, &wait);
	while (!blocked_in_futex(getpid(), atomic_load(&timed->tid), &from) &&
	       atomic_load(&timed->turn) < 0)
		sched_yield();
	sleepers_wait_on(&sleepers, &from, FLAGS);
	moved = op->requeue(&from, &to, FLAGS, 0, INT_MAX);
	sleepers_returned(&sleepers, 1);
	if (moved == 3) {
		tap_is(timed->result, -ETIMEDOUT, "%s: ETIMEDOUT", op->name);
		tap_is(sleepers_wake_all(&sleepers, &from, FLAGS), 0,
		       "%s: nothing at the source", op->name);
		tap_is(sleepers_wake_all(&sleepers, &to, FLAGS), 2,
		       "%s: the other two at the target", op->name);
	}
	sleepers_wake_all(&sleepers, &to, FLAGS);
	sleepers_wake_all(&sleepers, &from, FLAGS);
	sleepers_end(&sleepers);
	return moved == 3;
}

static void test_op(const struct requeue_op *op)
{
	int64_t ns = 20 * INT64_C(1000000);

	while (!times_out_at_target(op, ns)) {
		ns *= 2;
		if (ns > INT64_C(20000000000))
			tap_bail("%s: never moved in time", op->name);
		tap_diag("%s: too slow, again with %lld ms", op->name,
			 (long long)ns / 1000000);
	}
}

int main(void)
{
	return requeue_main(test_op, 3);
}
