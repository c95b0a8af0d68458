// SPDX-License-Identifier: GPL-2.0-only
/*
 * A requeued waiter keeps the bitset it waits with: only a wake whose bits
 * meet it finds it at the target.
 */
#include "run.h"
#include "sleepers.h"

#define NR_WAITERS 4
#define FLAGS	   FUTEX_PRIVATE_FLAG

static uint32_t from, to;

static void wait_with_bitset(struct sleepers *sleepers, uint32_t bitset)
{
	const struct waiter wait = {
		.futex = &from,
		.flags = FLAGS,
		.bitset = bitset,
	};

	sleepers_asleep(sleepers_start(sleepers, &wait));
}

static void test_op(const struct requeue_op *op)
{
	struct sleepers sleepers = sleepers_of(NR_WAITERS);

	for (int i = 0; i < NR_WAITERS; i++)
		wait_with_bitset(&sleepers, UINT32_C(1) << i);
	tap_is(op->requeue(&from, &to, FLAGS, 0, INT_MAX), NR_WAITERS,
	       "%s: moved whatever the bitset", op->name);
	tap_is(sys_futex_wake_bitset(&to, FLAGS, INT_MAX, 1u << NR_WAITERS), 0,
	       "%s: no waiter has this bit", op->name);
	tap_is(sys_futex_wake_bitset(&to, FLAGS, INT_MAX, 1u << 2), 1,
	       "%s: one waiter has that", op->name);
	sleepers_returned(&sleepers, 1);
	tap_is(sleepers_of_turn(&sleepers, 0), 2, "%s: the one with the bit",
	       op->name);
	tap_is(sys_futex_wake_bitset(&to, FLAGS, INT_MAX, 1u << 0 | 1u << 3), 2,
	       "%s: two bits, two waiters", op->name);
	sleepers_returned(&sleepers, 3);
	tap_is(sleepers_wake_all(&sleepers, &to, FLAGS), 1, "%s: the last",
	       op->name);
	sleepers_end(&sleepers);
}

int main(void)
{
	return requeue_main(test_op, 6);
}
