// SPDX-License-Identifier: GPL-2.0-only
/*
 * A private and a shared futex at one address are two futexes: who waits on
 * the one is not met by a requeue of the other.
 */
#include "run.h"
#include "sleepers.h"

static uint32_t from, to;

static void test_mixed(const struct requeue_op *op, int wait_flags,
		       int requeue_flags, const char *how)
{
	struct sleepers sleepers = sleepers_of(1);

	sleepers_wait_on(&sleepers, &from, wait_flags);
	tap_is(op->requeue(&from, &to, requeue_flags, 1, 1), 0, "%s: %s",
	       op->name, how);
	tap_is(sleepers_wake_all(&sleepers, &from, wait_flags), 1,
	       "%s: %s: still waits", op->name, how);
	sleepers_end(&sleepers);
}

/* What was moved keeps its kind. */
static void test_kept(const struct requeue_op *op, int flags, int other,
		      const char *kind)
{
	struct sleepers sleepers = sleepers_of(1);

	sleepers_wait_on(&sleepers, &from, flags);
	op->requeue(&from, &to, flags, 0, 1);
	tap_ok(sys_futex_wake(&to, other, 1) == 0 &&
		       sleepers_wake_all(&sleepers, &to, flags) == 1,
	       "%s: %s stays %s", op->name, kind, kind);
	sleepers_end(&sleepers);
}

static void test_op(const struct requeue_op *op)
{
	const int private = FUTEX_PRIVATE_FLAG, shared = 0;

	test_mixed(op, private, shared, "waits private, requeued shared");
	test_mixed(op, shared, private, "waits shared, requeued private");
	test_kept(op, private, shared, "private");
	test_kept(op, shared, private, "shared");
}

int main(void)
{
	return requeue_main(test_op, 6);
}
