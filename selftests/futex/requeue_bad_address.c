// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses that are no futex: unaligned EINVAL, unmapped or in the kernel
 * EFAULT. A private futex is a number to the kernel until it reads the word,
 * so that only those that compare can tell that it is not mapped.
 */
#include <sys/mman.h>

#include "run.h"
#include "sleepers.h"

#define PAGE_SIZE      4096
#define KERNEL_ADDRESS ((void *)(UINTPTR_MAX - PAGE_SIZE + 1))

static uint32_t good[2];
static void *unmapped;

/* One call that must answer @answer, in both kinds of futex. */
static void test_both(const struct requeue_op *op, const void *from,
		      const void *to, long answer, const char *what)
{
	tap_is(op->requeue(from, to, FUTEX_PRIVATE_FLAG, 1, 1), answer,
	       "%s: private, %s", op->name, what);
	tap_is(op->requeue(from, to, 0, 1, 1), answer, "%s: shared, %s",
	       op->name, what);
}

static void test_unaligned(const struct requeue_op *op)
{
	char *bytes = (char *)good;

	test_both(op, bytes + 1, &good[1], -EINVAL, "source off by one");
	test_both(op, bytes + 2, &good[1], -EINVAL, "source off by two");
	test_both(op, good, bytes + 5, -EINVAL, "target off by one");
	test_both(op, good, bytes + 7, -EINVAL, "target off by three");
}

static void test_unmapped(const struct requeue_op *op)
{
	bool reads = op->requeue != op_requeue;

	test_both(op, KERNEL_ADDRESS, good, -EFAULT, "kernel source");
	test_both(op, good, KERNEL_ADDRESS, -EFAULT, "kernel target");
	tap_is(op->requeue(unmapped, good, 0, 1, 1), -EFAULT,
	       "%s: shared, unmapped source", op->name);
	tap_is(op->requeue(good, unmapped, 0, 1, 1), -EFAULT,
	       "%s: shared, unmapped target", op->name);
	tap_is(op->requeue(unmapped, good, FUTEX_PRIVATE_FLAG, 1, 1),
	       reads ? -EFAULT : 0, "%s: private, unmapped source", op->name);
	tap_is(op->requeue(good, unmapped, FUTEX_PRIVATE_FLAG, 1, 1), 0,
	       "%s: private, unmapped target", op->name);
}

/* A waiter can be moved to such a target, and woken there. */
static void test_unmapped_target(const struct requeue_op *op)
{
	struct sleepers sleepers = sleepers_of(1);

	sleepers_wait_on(&sleepers, good, FUTEX_PRIVATE_FLAG);
	op->requeue(good, unmapped, FUTEX_PRIVATE_FLAG, 0, 1);
	tap_is(sleepers_wake_all(&sleepers, unmapped, FUTEX_PRIVATE_FLAG), 1,
	       "%s: woken at an unmapped target", op->name);
	sleepers_end(&sleepers);
}

static void test_op(const struct requeue_op *op)
{
	test_unaligned(op);
	test_unmapped(op);
	test_unmapped_target(op);
}

int main(void)
{
	unmapped = mmap(NULL, PAGE_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	if (unmapped == MAP_FAILED)
		tap_bail("mmap: %s", strerror(errno));
	return requeue_main(test_op, 17);
}
