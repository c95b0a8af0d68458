// SPDX-License-Identifier: MIT
/*
 * Waiting for a CUDA stream: marks, which are events recorded behind an
 * operation, and what to do without one.
 */
#include <stdlib.h>
#include <string.h>

#include "stream/cuda.h"

static int reserve(void **array, size_t *max, size_t nr, size_t size)
{
	size_t most = *max ? 2 * *max : 16;
	void *more;

	if (nr < *max)
		return 0;
	more = realloc(*array, most * size);
	if (!more)
		return stream_because(ENOMEM, "no memory");
	*array = more;
	*max = most;
	return 0;
}

static int new_event(struct stream *s, cu_event *event)
{
	struct cuda_stream *c = cuda_private(s);

	if (c->nr_spare) {
		*event = c->spare[--c->nr_spare];
		return 0;
	}
	return CUDA_CALL(s, event_create, event, CU_EVENT_DISABLE_TIMING);
}

void cuda_drop_marks(struct stream *s)
{
	struct cuda_stream *c = cuda_private(s);
	uint64_t done = load_acquire(&s->done);
	size_t nr = 0;

	while (nr < c->nr_marks && c->marks[nr].number <= done) {
		/* Without room it is lost until the stream is closed. */
		if (!reserve((void **)&c->spare, &c->max_spare, c->nr_spare,
			     sizeof(*c->spare)))
			c->spare[c->nr_spare++] = c->marks[nr].event;
		else
			CUDA_CALL(s, event_destroy, c->marks[nr].event);
		nr++;
	}
	if (!nr)
		return;
	c->nr_marks -= nr;
	memmove(c->marks, c->marks + nr, c->nr_marks * sizeof(*c->marks));
}

struct cuda_mark *cuda_mark_behind(struct cuda_stream *c, uint64_t number)
{
	for (size_t i = 0; i < c->nr_marks; i++)
		if (c->marks[i].number >= number)
			return &c->marks[i];
	return NULL;
}

int cuda_make_mark(struct stream *s)
{
	struct cuda_stream *c = cuda_private(s);
	cu_event event;
	int err;

	cuda_drop_marks(s);
	if (load_acquire(&s->done) >= s->submitted ||
	    cuda_mark_behind(c, s->submitted))
		return 0;
	err = reserve((void **)&c->marks, &c->max_marks, c->nr_marks,
		      sizeof(*c->marks));
	if (!err)
		err = new_event(s, &event);
	if (err)
		return err;
	err = CUDA_CALL(s, event_record, event, c->stream);
	if (err) {
		CUDA_CALL(s, event_destroy, event);
		return err;
	}
	c->marks[c->nr_marks++] = (struct cuda_mark){ event, s->submitted };
	return 0;
}

int cuda_mark(struct stream *s)
{
	int err;

	cuda_enter(s);
	err = cuda_make_mark(s);
	cuda_leave(s);
	return err;
}

/*
 * The driver has lost an operation, and with it all that follow. Which one it
 * was it does not say: the first that is not known to be done.
 */
static void all_lost(struct stream *s, uint64_t last, int err)
{
	stream_fail(s, load_acquire(&s->done) + 1, err);
	stream_set_done(s, last);
}

void cuda_poll(struct stream *s)
{
	struct cuda_stream *c = cuda_private(s);
	cu_result result = CU_SUCCESS;

	cuda_enter(s);
	for (size_t i = 0; i < c->nr_marks && !result; i++) {
		add_relaxed(&s->driver_calls, 1);
		result = cuda.event_query(c->marks[i].event);
		if (!result)
			stream_set_done(s, c->marks[i].number);
	}
	if (!c->nr_marks) {
		add_relaxed(&s->driver_calls, 1);
		result = cuda.stream_query(c->stream);
		if (!result)
			stream_set_done(s, s->submitted);
	}
	if (result && result != CU_NOT_READY)
		all_lost(s, s->submitted, cuda_error(result, "a query"));
	cuda_drop_marks(s);
	cuda_leave(s);
}

/* ---- waiting ---- */

/* What a thread waits for without the lock. */
struct awaited {
	cu_event event; /* NULL: all of the stream */
	uint64_t number;
	int err;
};

/* Returns false if @number is done by now. */
static bool choose_awaited(struct stream *s, uint64_t number,
			   struct awaited *awaited)
{
	struct cuda_stream *c = cuda_private(s);
	struct cuda_mark *mark;

	*awaited = (struct awaited){ .number = s->submitted };
	if (load_acquire(&s->done) >= number)
		return false;
	mark = cuda_mark_behind(c, number);
	if (!mark && number < s->submitted) {
		awaited->err = cuda_make_mark(s);
		mark = cuda_mark_behind(c, number);
	}
	if (mark) {
		awaited->event = mark->event;
		awaited->number = mark->number;
	}
	stream_use(s);
	return true;
}

static cu_result look(struct stream *s, const struct awaited *awaited)
{
	add_relaxed(&s->driver_calls, 1);
	return awaited->event ? cuda.event_query(awaited->event) :
				cuda.stream_query(cuda_private(s)->stream);
}

/* The driver has no wait with a deadline: look, and sleep in between. */
static cu_result poll_until(struct stream *s, const struct awaited *awaited,
			    const struct deadline *deadline)
{
	uint64_t sleep_ns = 10000;
	futex_word never = 0;
	cu_result result;

	while ((result = look(s, awaited)) == CU_NOT_READY) {
		struct deadline next = { .clock = deadline->clock };

		clock_gettime(next.clock, &next.at);
		next.at.tv_nsec += (long)sleep_ns;
		if (next.at.tv_nsec >= 1000000000) {
			next.at.tv_nsec -= 1000000000;
			next.at.tv_sec++;
		}
		if (next.at.tv_sec > deadline->at.tv_sec ||
		    (next.at.tv_sec == deadline->at.tv_sec &&
		     next.at.tv_nsec >= deadline->at.tv_nsec))
			return look(s, awaited);
		add_relaxed(&s->system_calls, 1);
		futex_wait(&never, 0, &next, false);
		if (sleep_ns < 1000000)
			sleep_ns *= 2;
	}
	return result;
}

static cu_result await(struct stream *s, const struct awaited *awaited,
		       const struct deadline *deadline)
{
	if (deadline)
		return poll_until(s, awaited, deadline);
	add_relaxed(&s->driver_calls, 1);
	return awaited->event ?
		       cuda.event_synchronize(awaited->event) :
		       cuda.stream_synchronize(cuda_private(s)->stream);
}

int cuda_wait(struct stream *s, uint64_t number,
	      const struct deadline *deadline)
{
	struct awaited awaited;
	cu_result result;
	bool waits;

	drover_mutex_lock(&stream_lock);
	/* Destroyed meanwhile: then it was waited for. */
	waits = load_acquire(&s->done) < number;
	if (waits) {
		cuda_enter(s);
		waits = choose_awaited(s, number, &awaited);
		cuda_leave(s);
	}
	drover_mutex_unlock(&stream_lock);
	if (!waits)
		return 0;
	cuda_enter(s);
	result = await(s, &awaited, deadline);
	cuda_leave(s);
	if (!result)
		stream_set_done(s, awaited.number);
	else if (result != CU_NOT_READY)
		all_lost(s, awaited.number, cuda_error(result, "a wait"));
	stream_unuse(s);
	return result == CU_NOT_READY ? ETIMEDOUT : 0;
}
