/* SPDX-License-Identifier: MIT */
/*
 * slot.h - slots; each slot is used for one stream after the other
 *
 * Locks. stream_lock guards everything except atomic members, and except
 * operations between their post and their end: these do not change, and the
 * threads that carry them out read them without the lock. No thread sleeps with
 * stream_lock for longer than a system call takes. Order: stream_lock, then the
 * lock of a CUDA stream's marks or of the checker.
 */
#ifndef DROVER_STREAM_SLOT_H
#define DROVER_STREAM_SLOT_H

#include <drover/mutex.h>

#include "pool/pool.h"
#include "stream/backend.h"
#include "stream/number.h"
#include "stream/observer.h"
#include "stream/op.h"
#include "stream/why.h"

#define STREAM_MAX    128 /* streams at a time */
#define CACHE_LINE    64
#define cache_aligned _Alignas(CACHE_LINE)

/*
 * A slot, or the stream that has it now. A thread without the lock keeps the
 * stream by users [S-USERS]: until the thread lets go, the slot is not used for
 * another stream. If the comment of a member says nothing else, stream_lock
 * guards it, or it is constant.
 */
struct stream {
	uint32_t slot;
	bool taken; /* also while it is being made or closed */
	/* Which of the slot's streams this is; odd while there is one. */
	_Atomic uint32_t life;
	const struct backend *backend;
	enum drover_order order;
	uint32_t depth;
	uint32_t device;
	/*
	 * Until operation N is retired, it is in ring[N % depth], and the clock
	 * behind it in clocks[N % depth].
	 */
	struct op *ring;
	uint64_t (*clocks)[STREAM_MAX];
	/* The next queued operation is behind operation clock[T] of slot T. */
	uint64_t clock[STREAM_MAX];
	uint64_t submitted;   /* the last number given */
	uint64_t wanted;      /* a thread is going to wait for this one */
	uint64_t retired;     /* the memory of operations up to here is freed */
	uint64_t host_number; /* the last one that touches host memory */
	struct drover_graph *capture; /* the graph that is being made, or NULL */
	unsigned char *staging;	      /* a ring, in use from tail to head */
	size_t staging_bytes;
	uint64_t staging_head;	 /* counted for ever */
	uint64_t staging_wanted; /* head when wanted was set last */
	uint64_t staging_tail;
	drover_stream_counts_t counts;
	void *native;	      /* of drover_stream_native(); set by open */
	void *device_private; /* the backend's */
	struct task task;     /* works the queue off, while at_work */
	uint64_t next;	      /* the operation in turn; belongs to the task */
	_Atomic bool at_work;

	/* Written by the threads that carry operations out. */
	cache_aligned struct number posted; /* up to here: may begin or begun */
	cache_aligned struct number done;   /* up to here: done */
	/*
	 * number << 12 | errno of the first failed operation, or FAILURE_NONE
	 */
	_Atomic uint64_t failure;
	_Atomic uint32_t users;	 /* of the slot: a futex word, never reset */
	_Atomic uint32_t worker; /* thread id of the queue's worker, or 0 */
};

extern struct stream streams[STREAM_MAX];
extern drover_mutex_t stream_lock;
extern uint32_t nr_slots; /* how many were ever used; [stream_lock] */

#define for_each_stream(s)                                            \
	for (struct stream *s = streams; s < streams + nr_slots; s++) \
		if (load_relaxed(&s->life) & 1)

/* A backend of tests that are linked statically, or NULL. */
extern const struct backend *stream_of_tests;

/* Take stream_lock and find a stream. Return: NULL, without the lock: EBADF. */
struct stream *stream_enter(const drover_stream_t *name);
/* Return: EBUSY if the stream captures, else 0. */
int stream_captures(const struct stream *s);

static inline struct op *stream_op(const struct stream *s, uint64_t number)
{
	return &s->ring[number % s->depth];
}

static inline uint64_t *stream_clock_of(const struct stream *s, uint64_t number)
{
	return s->clocks[number % s->depth];
}

static inline uint64_t stream_done(const struct stream *s)
{
	return load_acquire(&s->done.at);
}

/*
 * [S-USERS] A user counts itself, then reads the stream's life, or done. The
 * thread that destroys the stream waits until all is done, changes its life,
 * then reads users. This is store buffering, so both sides are sequentially
 * consistent. Otherwise the slot could become another stream's while the user
 * uses it. Model: handle.pml
 */
static inline void stream_use(struct stream *s)
{
	add_seq_cst(&s->users, 1);
}

static inline void stream_unuse(struct stream *s)
{
	if (sub_seq_cst(&s->users, 1) == 1 && !(load_seq_cst(&s->life) & 1))
		futex_wake(&s->users, 1, false);
}

/* The host has to wait for operation @number of @on; this keeps that stream. */
struct need {
	struct stream *on;
	uint64_t number;
};

/* Say that the host has to wait. Return: EAGAIN, for the caller to return. */
static inline int need_of(struct need *need, struct stream *s, uint64_t number)
{
	stream_use(s);
	*need = (struct need){ .on = s, .number = number };
	return EAGAIN;
}

#endif /* DROVER_STREAM_SLOT_H */
