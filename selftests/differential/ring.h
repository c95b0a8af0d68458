/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ring.h - waiters of io_uring, which need no thread
 *
 *	struct ring ring;
 *	uint64_t id;
 *	int result;
 *
 *	if (ring_open(&ring))
 *		tap_skip("io_uring", "not in this kernel");
 *	ring_wait(&ring, 7, &word, FUTEX_PRIVATE_FLAG, 0, ~0u);
 *	sys_futex_wake(&word, FUTEX_PRIVATE_FLAG, 1);
 *	while (ring_next(&ring, &id, &result))
 *		...			// id 7, result 0
 *
 * A request is queued on its futex when the call that submits it returns. Who
 * is woken by the thread that has the ring is completed when its call returns
 * to user space: no waiting is needed.
 */
#pragma once

#include <linux/io_uring.h>

#include "blocked.h"
#include "futex_call.h"

#define RING_ENTRIES 64

/* Newer than the headers of Debian 12. */
#define RING_OP_FUTEX_WAIT  51
#define RING_OP_FUTEX_WAITV 53

struct ring {
	int fd;
	_Atomic uint32_t *sq_tail, *cq_head, *cq_tail;
	uint32_t sq_mask, cq_mask;
	uint32_t *sq_array;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

/* ring_open - 0 or negative errno; there is no way to close one, but exit */
static inline int ring_open(struct ring *ring)
{
	struct io_uring_params p = { 0 };
	size_t size;
	char *at;

	ring->fd = sys_result(syscall(SYS_io_uring_setup, RING_ENTRIES, &p));
	if (ring->fd < 0)
		return ring->fd;
	/* One mapping for both queues since 5.4. */
	size = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		  ring->fd, IORING_OFF_SQ_RING);
	ring->sqes = mmap(NULL, p.sq_entries * sizeof(*ring->sqes),
			  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			  ring->fd, IORING_OFF_SQES);
	if (at == MAP_FAILED || ring->sqes == MAP_FAILED)
		return -ENOMEM;
	ring->sq_tail = (void *)(at + p.sq_off.tail);
	ring->sq_mask = *(uint32_t *)(at + p.sq_off.ring_mask);
	ring->sq_array = (void *)(at + p.sq_off.array);
	ring->cq_head = (void *)(at + p.cq_off.head);
	ring->cq_tail = (void *)(at + p.cq_off.tail);
	ring->cq_mask = *(uint32_t *)(at + p.cq_off.ring_mask);
	ring->cqes = (void *)(at + p.cq_off.cqes);
	return 0;
}

/* Hands one request to the kernel; 1 or negative errno. */
static inline long ring_submit(struct ring *ring,
			       const struct io_uring_sqe *sqe)
{
	uint32_t tail =
		atomic_load_explicit(ring->sq_tail, memory_order_relaxed);

	ring->sqes[tail & ring->sq_mask] = *sqe;
	ring->sq_array[tail & ring->sq_mask] = tail & ring->sq_mask;
	/* Pairs with the kernel's load: it must see the request whole. */
	atomic_store_explicit(ring->sq_tail, tail + 1, memory_order_release);
	return sys_result(
		syscall(SYS_io_uring_enter, ring->fd, 1, 0, 0, NULL, 0));
}

/* ring_wait - wait on @uaddr while its value is @val; @flags as futex(2)'s */
static inline long ring_wait(struct ring *ring, uint64_t id, const void *uaddr,
			     int flags, uint32_t val, uint32_t bitset)
{
	struct io_uring_sqe sqe = {
		.opcode = RING_OP_FUTEX_WAIT,
		.fd = FUTEX2_SIZE_U32 |
		      (flags & FUTEX_PRIVATE_FLAG ? FUTEX2_PRIVATE : 0),
		.addr = (uintptr_t)uaddr,
		.addr2 = val,
		.user_data = id,
	};
	/* addr3, which Debian 11 has no name for */
	((uint64_t *)&sqe)[6] = bitset;

	return ring_submit(ring, &sqe);
}

/* ring_waitv - wait on @nr futexes at once */
static inline long ring_waitv(struct ring *ring, uint64_t id,
			      const struct futex_waitv *futexes, int nr)
{
	const struct io_uring_sqe sqe = {
		.opcode = RING_OP_FUTEX_WAITV,
		.addr = (uintptr_t)futexes,
		.len = nr,
		.user_data = id,
	};

	return ring_submit(ring, &sqe);
}

/* ring_cancel - end request @id; the answer comes as a result for @own_id */
static inline long ring_cancel(struct ring *ring, uint64_t own_id, uint64_t id)
{
	const struct io_uring_sqe sqe = {
		.opcode = IORING_OP_ASYNC_CANCEL,
		.fd = -1,
		.addr = id,
		.user_data = own_id,
	};

	return ring_submit(ring, &sqe);
}

/* ring_next - take the next result, if there is one */
static inline bool ring_next(struct ring *ring, uint64_t *id, int *result)
{
	uint32_t head =
		atomic_load_explicit(ring->cq_head, memory_order_relaxed);
	const struct io_uring_cqe *cqe = &ring->cqes[head & ring->cq_mask];

	/* Pairs with the kernel's store, behind the result itself. */
	if (head == atomic_load_explicit(ring->cq_tail, memory_order_acquire))
		return false;
	*id = cqe->user_data;
	*result = cqe->res;
	/* The kernel may use the place again. */
	atomic_store_explicit(ring->cq_head, head + 1, memory_order_release);
	return true;
}
