/* SPDX-License-Identifier: MIT */
/* cuda_wait.h - a CUDA stream, its marks, and waits for them */
#ifndef DROVER_STREAM_CUDA_WAIT_H
#define DROVER_STREAM_CUDA_WAIT_H

#include "stream/cuda_driver.h"
#include "stream/slot.h"

/* An event behind operation @number. */
struct cuda_mark {
	cu_event event;
	uint64_t number;
	uint32_t users;		/* the stream's ring, and waits for the event */
	struct cuda_mark *next; /* in the list of marks without users */
};

/* The backend's part of a stream. */
struct cuda_stream {
	drover_mutex_t lock; /* of the marks; nothing blocks with it */
	cu_context context;
	bool borrowed; /* the CUDA stream is the caller's */
	struct cuda_mark *unused;
	/*
	 * Marks from first to last are recorded, and not known to be done. No
	 * two of them are behind the same operation, so there is room for all.
	 */
	uint64_t first, last;
	struct cuda_mark *marks[];
};

/*
 * Between cuda_enter() and cuda_leave() the stream's context is current, and
 * captures of any thread do not matter. cuda_leave() makes the caller's context
 * current again. After an error of cuda_enter() there is nothing to leave.
 */
static inline int cuda_enter(struct stream *s, int *mode)
{
	struct cuda_stream *c = s->device_private;
	int err = CUDA_CALL(context_push, c->context);

	*mode = CU_CAPTURE_RELAXED;
	if (!err)
		CUDA_CALL(capture_mode, mode);
	return err;
}

static inline void cuda_leave(int *mode)
{
	cu_context context;

	CUDA_CALL(capture_mode, mode);
	CUDA_CALL(context_pop, &context);
}

/*
 * Record a mark behind all that is issued, unless there is one behind @number.
 * The context is current. Without a mark, a wait for @number waits for more.
 */
void cuda_make_mark(struct stream *s, uint64_t number);
/*
 * The stream ends. @current: its context is current, so that the events can be
 * destroyed.
 */
void cuda_free_marks(struct stream *s, bool current);
/* Queue a wait for operation @number of @other, which the caller keeps. */
int cuda_queue_wait(struct stream *s, struct stream *other, uint64_t number);
/* See struct backend. */
void cuda_poll(struct stream *s);
int cuda_wait(struct stream *s, uint64_t number,
	      const struct deadline *deadline);

#endif /* DROVER_STREAM_CUDA_WAIT_H */
