// SPDX-License-Identifier: MIT
/* Waiting for a CUDA stream: for its marks, which are events. */
#include <errno.h>

#include "stream/cuda.h"

/*
 * The mark to wait for; NULL: all is done. An operation without one has failed,
 * and is done when that in front of it is.
 */
static struct cuda_mark *mark_of(const struct stream *s, uint64_t number)
{
	struct cuda_mark *mark;

	for (; number > stream_done(s); number--) {
		mark = &cuda_private(s)->marks[number % s->depth];
		if (load_acquire(&mark->number) == number)
			return mark;
	}
	return NULL;
}

int cuda_make_mark(struct stream *s, uint64_t number)
{
	struct cuda_stream *c = cuda_private(s);
	struct cuda_mark *mark = &c->marks[number % s->depth];
	int err = 0;

	/* Until those have left who waited for the operation that had it before. */
	drover_mutex_lock(&mark->waiter);
	drover_mutex_lock(&c->lock);
	if (!mark->event)
		err = CUDA_CALL(s, event_create, &mark->event,
				CU_EVENT_DISABLE_TIMING);
	if (!err)
		err = CUDA_CALL(s, event_record, mark->event, c->stream);
	if (!err)
		store_release(&mark->number, number);
	drover_mutex_unlock(&c->lock);
	drover_mutex_unlock(&mark->waiter);
	return err;
}

int cuda_queue_wait(struct stream *s, struct stream *other, uint64_t number)
{
	struct cuda_stream *c = cuda_private(other);
	struct cuda_mark *mark;
	int err = 0;

	number_wait(other, &other->posted, number, NULL);
	/* Once it is done its event may be another one's. */
	drover_mutex_lock(&c->lock);
	mark = mark_of(other, number);
	if (mark)
		err = CUDA_CALL(s, stream_wait_event, cuda_private(s)->stream,
				mark->event, 0);
	drover_mutex_unlock(&c->lock);
	return err;
}

void cuda_free_marks(struct stream *s)
{
	struct cuda_stream *c = cuda_private(s);

	for (uint32_t i = 0; i < s->depth; i++)
		if (c->marks[i].event)
			CUDA_CALL(s, event_destroy, c->marks[i].event);
}

/*
 * All up to @number is done; with the lock none of them is another one before it
 * has the errors of what it was behind. With @err the driver has lost one, and
 * all that follow: which one it does not say, so the first.
 */
static void set_done(struct stream *s, uint64_t number, int err)
{
	uint64_t n;

	drover_mutex_lock(&cuda_private(s)->lock);
	n = stream_done(s) + 1;
	if (err)
		stream_fail(s, n, err);
	for (; n <= number; n++)
		engine_inherit(s, stream_op(s, n));
	number_raise(s, &s->done, number);
	drover_mutex_unlock(&cuda_private(s)->lock);
}

/* If the event is another one's by now, @number is known to be done. */
void cuda_poll(struct stream *s, uint64_t number)
{
	struct cuda_mark *mark;
	int mode, err;

	if (load_acquire(&s->posted.at) < number || cuda_enter(s, &mode))
		return;
	mark = mark_of(s, number);
	err = mark ? CUDA_CALL(s, event_query, mark->event) : 0;
	if (err != EAGAIN)
		set_done(s, number, err);
	cuda_leave(s, &mode);
}

/* The driver has no wait with a deadline: look, and sleep in between. */
static int poll_until(struct stream *s, uint64_t number,
		      const struct deadline *deadline)
{
	int64_t sleep_ns = 10000, left, at;
	struct deadline next = { .clock = deadline->clock };
	int err;

	do {
		left = time_left(deadline);
		at = clock_read(next.clock) +
		     (sleep_ns < left ? sleep_ns : left);
		next.at = (struct timespec){ at / NS_PER_S, at % NS_PER_S };
		cuda_poll(s, number);
		err = number_wait(s, &s->done, number, &next);
		if (sleep_ns < 1000000)
			sleep_ns *= 2;
	} while (err && left > 0);
	return err;
}

int cuda_wait(struct stream *s, uint64_t number,
	      const struct deadline *deadline)
{
	int err = number_wait(s, &s->posted, number, deadline), mode;
	struct cuda_mark *mark;

	if (err)
		return err;
	if (deadline)
		return poll_until(s, number, deadline);
	err = cuda_enter(s, &mode);
	if (err)
		return err;
	mark = mark_of(s, number);
	if (mark) {
		drover_mutex_lock(&mark->waiter);
		if (stream_done(s) < number)
			err = CUDA_CALL(s, event_synchronize, mark->event);
		drover_mutex_unlock(&mark->waiter);
	}
	set_done(s, number, err);
	cuda_leave(s, &mode);
	return 0;
}
