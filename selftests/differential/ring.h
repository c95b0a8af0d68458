/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ring.h - waiters of io_uring, which need no thread
 *
 * A request is queued on its futex when the call that submits it returns. A
 * request that the ring's own thread wakes is complete when its call returns to
 * user space, so the thread need not wait for it.
 */
#pragma once

#include <linux/io_uring.h>

#include "blocked.h"
#include "futex_call.h"

#define RING_ENTRIES 64

/* The headers of Debian 12 do not have these. */
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

/*
 * ring_open - 0 or negative errno; the ring stays open until the process ends
 */
static inline int ring_open(struct ring *ring)
{
	struct io_uring_params p = { 0 };
	size_t size;
	char *at;

	ring->fd = sys_result(syscall(SYS_io_uring_setup, RING_ENTRIES, &p));
	if (ring->fd < 0)
		return ring->fd;
	/* Since Linux 5.4 there is one mapping for both queues. */
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

/* ring_submit - hand one request to the kernel; 1 or negative errno */
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
