/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * requeue_op.h - the three ways to requeue, behind one signature
 *
 * FUTEX_REQUEUE, FUTEX_CMP_REQUEUE and futex_requeue(2) promise the same of
 * the waiters; a test of such a promise runs over all of them. Those that
 * compare expect the word at @from to be 0.
 */
#ifndef DROVER_SELFTESTS_REQUEUE_OP_H
#define DROVER_SELFTESTS_REQUEUE_OP_H

#include "futex_call.h"

struct requeue_op {
	const char *name;
	long (*requeue)(const void *from, const void *to, int flags,
			int nr_wake, int nr_requeue);
};

static inline long op_requeue(const void *from, const void *to, int flags,
			      int nr_wake, int nr_requeue)
{
	return sys_futex_requeue(from, to, flags, nr_wake, nr_requeue);
}

static inline long op_cmp_requeue(const void *from, const void *to, int flags,
				  int nr_wake, int nr_requeue)
{
	return sys_futex_cmp_requeue(from, to, flags, nr_wake, nr_requeue, 0);
}

static inline long op_requeue2(const void *from, const void *to, int flags,
			       int nr_wake, int nr_requeue)
{
	uint32_t flags2 = FUTEX2_SIZE_U32 |
			  (flags & FUTEX_PRIVATE_FLAG ? FUTEX2_PRIVATE : 0);
	struct futex_waitv pair[2] = {
		{ .uaddr = (uintptr_t)from, .flags = flags2 },
		{ .uaddr = (uintptr_t)to, .flags = flags2 },
	};

	return sys_futex_requeue2(pair, 0, nr_wake, nr_requeue);
}

#define NR_REQUEUE_OPS 3

static const struct requeue_op requeue_ops[NR_REQUEUE_OPS] = {
	{ "FUTEX_REQUEUE", op_requeue },
	{ "FUTEX_CMP_REQUEUE", op_cmp_requeue },
	{ "futex_requeue(2)", op_requeue2 },
};

static inline int requeue_op_exists(const struct requeue_op *op)
{
	static const uint32_t from, to;

	return op->requeue(&from, &to, FUTEX_PRIVATE_FLAG, 0, 0) != -ENOSYS;
}

#endif /* DROVER_SELFTESTS_REQUEUE_OP_H */
