/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * futex_call.h - the futex system calls
 *
 * Every wrapper returns the kernel's answer: the result, or a negative errno
 * value. errno itself is not used. @flags is 0 for a futex that processes
 * share, or FUTEX_PRIVATE_FLAG; FUTEX_CLOCK_REALTIME may be added if the
 * operation takes it.
 *
 * Addresses are void * because tests also pass bad ones.
 */
#pragma once

#include <errno.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The headers of Debian 12 lack these. All machines have the same numbers. */
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef SYS_futex_requeue
#define SYS_futex_requeue 456
#endif

#ifndef FUTEX_32 /* the headers of Debian 11 lack this, too */
struct futex_waitv {
	uint64_t val, uaddr;
	uint32_t flags, __reserved;
};
#endif

/* Flags of one entry of struct futex_waitv. */
#ifndef FUTEX2_SIZE_U32
#define FUTEX2_SIZE_U32 0x02
#endif

static inline long sys_result(long ret)
{
	return ret == -1 ? -errno : ret;
}

/*
 * sys_futex - any operation, with the arguments in the kernel's order. The
 * fourth is a timeout for waits and a count (nr_requeue) for requeues.
 */
static inline long sys_futex(const volatile void *uaddr, int op, uint32_t val,
			     uintptr_t timeout_or_val2,
			     const volatile void *uaddr2, uint32_t val3)
{
	return sys_result(syscall(SYS_futex, uaddr, op, val, timeout_or_val2,
				  uaddr2, val3));
}

/* Waits return 0 if they were woken, or -EAGAIN, -ETIMEDOUT, -EINTR... */

static inline long sys_futex_wait(const volatile void *uaddr, int flags,
				  uint32_t val, const struct timespec *relative)
{
	return sys_futex(uaddr, FUTEX_WAIT | flags, val, (uintptr_t)relative,
			 NULL, 0);
}

/* Wakes return how many waiters were woken. */

static inline long sys_futex_wake(const volatile void *uaddr, int flags,
				  int nr_wake)
{
	return sys_futex(uaddr, FUTEX_WAKE | flags, nr_wake, 0, NULL, 0);
}

/*
 * Requeues return how many waiters were woken and requeued in all. @waiters of
 * futex_requeue(2) is the source and the target, in this order.
 */
static inline long sys_futex_requeue2(struct futex_waitv *waiters,
				      unsigned int flags, int nr_wake,
				      int nr_requeue)
{
	return sys_result(syscall(SYS_futex_requeue, waiters, flags, nr_wake,
				  nr_requeue));
}

/* Priority inheritance. */

static inline long sys_futex_lock_pi(const volatile void *uaddr, int flags,
				     const struct timespec *absolute)
{
	return sys_futex(uaddr, FUTEX_LOCK_PI | flags, 0, (uintptr_t)absolute,
			 NULL, 0);
}

static inline long sys_futex_unlock_pi(const volatile void *uaddr, int flags)
{
	return sys_futex(uaddr, FUTEX_UNLOCK_PI | flags, 0, 0, NULL, 0);
}

/* The three ways to requeue. Ways that compare expect 0 at @from. */

#define NR_REQUEUE_OPS 3

static const struct requeue_op {
	const char *name;
	int op; /* 0: futex_requeue(2) */
} requeue_ops[NR_REQUEUE_OPS] = {
	{ "FUTEX_REQUEUE", FUTEX_REQUEUE },
	{ "FUTEX_CMP_REQUEUE", FUTEX_CMP_REQUEUE },
	{ "futex_requeue(2)", 0 },
};

static inline long requeue_by(const struct requeue_op *op, const void *from,
			      const void *to, int flags, int nr_wake,
			      int nr_requeue)
{
	/* FUTEX2_PRIVATE is FUTEX_PRIVATE_FLAG. */
	uint32_t flags2 = FUTEX2_SIZE_U32 | (flags & FUTEX_PRIVATE_FLAG);
	struct futex_waitv pair[2] = {
		{ .uaddr = (uintptr_t)from, .flags = flags2 },
		{ .uaddr = (uintptr_t)to, .flags = flags2 },
	};

	if (op->op)
		return sys_futex(from, op->op | flags, nr_wake, nr_requeue, to,
				 0);
	return sys_futex_requeue2(pair, 0, nr_wake, nr_requeue);
}
