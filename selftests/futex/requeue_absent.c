// SPDX-License-Identifier: GPL-2.0-only
/*
 * Without CONFIG_FUTEX_REQUEUE the five operations that requeue answer ENOSYS
 * whatever their arguments, and leave waiters alone; with it none of them
 * answers ENOSYS. Mainline's tests, which run on both kernels, show that all
 * other operations work, except FUTEX_WAKE_OP, which is tested here.
 */
#include "sleepers.h"

#define FLAGS FUTEX_PRIVATE_FLAG

static uint32_t word, other;

/* The arguments are invalid, so that no call can sleep. */
static const struct {
	const char *name;
	int op; /* 0: futex_requeue(2) */
	int val, val2;
	const uint32_t *to;
} requeues[] = {
	{ "FUTEX_REQUEUE", FUTEX_REQUEUE, -1, 1, &other },
	{ "FUTEX_CMP_REQUEUE", FUTEX_CMP_REQUEUE, -1, 1, &other },
	{ "FUTEX_WAIT_REQUEUE_PI", FUTEX_WAIT_REQUEUE_PI, 0, 0, &word },
	{ "FUTEX_CMP_REQUEUE_PI", FUTEX_CMP_REQUEUE_PI, 1, 1, &word },
	{ "futex_requeue(2)", 0, 0, 0, NULL },
};

static void test_requeues(void)
{
	bool absent = variant_is("none");

	for (int i = 0; i < NR_OF(requeues); i++) {
		int op = requeues[i].op;
		long answer = op ? sys_futex(&word, op | FLAGS, requeues[i].val,
					     requeues[i].val2, requeues[i].to,
					     0) :
				   sys_futex_requeue2(NULL, 0, 1, 1);

		if (answer == -ENOSYS && !op && variant_is_host())
			tap_skip(requeues[i].name, "this kernel lacks it");
		else
			tap_is(answer, absent ? -ENOSYS : -EINVAL, "%s: %s",
			       requeues[i].name, absent ? "ENOSYS" : "EINVAL");
	}
}

/* A kernel without requeue leaves the waiter alone. */
static void test_waiter(const struct requeue_op *op, int flags)
{
	if (!variant_is("none")) {
		tap_skip(op->name, "this kernel has requeue");
		return;
	}
	sleepers_fill(1, &word, flags);
	tap_ok(requeue_by(op, &word, &other, flags, 1, 1) == -ENOSYS &&
		       sleepers_wake(&other, flags, 1) == 0 &&
		       sleepers_wake(&word, flags, 1) == 1,
	       "%s: the waiter still waits", op->name);
	sleepers_end();
}

/* The call wakes a waiter of each word, if the second word was 0. */
static void test_wake_op(void)
{
	sleepers_fill(1, &word, FLAGS);
	sleepers_fill(1, &other, FLAGS);
	tap_ok(sys_futex(&word, FUTEX_WAKE_OP | FLAGS, 1, 1, &other,
			 FUTEX_OP(FUTEX_OP_SET, 7, FUTEX_OP_CMP_EQ, 0)) == 2 &&
		       other == 7,
	       "FUTEX_WAKE_OP wakes at both words");
	sleepers_end();
}

int main(void)
{
	tap_plan(NR_OF(requeues) + 1 + 2 * NR_REQUEUE_OPS);
	for (int i = 0; i < NR_REQUEUE_OPS; i++) {
		test_waiter(&requeue_ops[i], 0);
		test_waiter(&requeue_ops[i], FLAGS);
	}
	test_requeues();
	test_wake_op();
	return tap_exit();
}
