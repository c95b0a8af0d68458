// SPDX-License-Identifier: MIT
/* Waits for a CUDA stream by marks, which are events behind operations. */
#include "stream/cuda_wait.h"

#include <errno.h>
#include <stdlib.h>

#include "stream/wait.h"

/* ---- marks ---- */

static struct cuda_mark *mark_at(struct stream *s, uint64_t i)
{
	struct cuda_stream *c = s->device_private;

	return c->marks[i % s->depth];
}

/* Without users its event may be recorded again, as no thread waits for it. */
static void put_mark(struct stream *s, struct cuda_mark *mark)
{
	struct cuda_stream *c = s->device_private;

	if (--mark->users)
		return;
	mark->next = c->unused;
	c->unused = mark;
}

static struct cuda_mark *take_mark(struct stream *s)
{
	struct cuda_stream *c = s->device_private;
	struct cuda_mark *mark = c->unused;

	if (mark) {
		c->unused = mark->next;
		return mark;
	}
	mark = calloc(1, sizeof(*mark));
	if (mark &&
	    !CUDA_CALL(event_create, &mark->event, CU_EVENT_DISABLE_TIMING))
		return mark;
	free(mark);
	return NULL;
}

static void drop_marks(struct stream *s)
{
	struct cuda_stream *c = s->device_private;

	while (c->first < c->last &&
	       mark_at(s, c->first)->number <= stream_done(s))
		put_mark(s, mark_at(s, c->first++));
}

static struct cuda_mark *mark_behind(struct stream *s, uint64_t number)
{
	struct cuda_stream *c = s->device_private;

	for (uint64_t i = c->first; i < c->last; i++)
		if (mark_at(s, i)->number >= number)
			return mark_at(s, i);
	return NULL;
}

/* Return: a mark behind @number, which is issued; NULL: none can be made. */
static struct cuda_mark *get_mark(struct stream *s, uint64_t number)
{
	struct cuda_stream *c = s->device_private;
	struct cuda_mark *mark;

	drop_marks(s);
	mark = mark_behind(s, number);
	if (mark)
		return mark;
	mark = take_mark(s);
	if (!mark)
		return NULL;
	mark->users = 1;
	/* Operations issued meanwhile may be in front of it or behind. */
	mark->number = load_acquire(&s->posted.at);
	if (CUDA_CALL(event_record, mark->event, s->native)) {
		put_mark(s, mark);
		return NULL;
	}
	c->marks[c->last++ % s->depth] = mark;
	return mark;
}

void cuda_free_marks(struct stream *s, bool current)
{
	struct cuda_stream *c = s->device_private;
	struct cuda_mark *mark;

	drop_marks(s);
	while ((mark = c->unused)) {
		c->unused = mark->next;
		if (current)
			CUDA_CALL(event_destroy, mark->event);
		free(mark);
	}
}

void cuda_make_mark(struct stream *s, uint64_t number)
{
	struct cuda_stream *c = s->device_private;

	if (stream_done(s) >= number)
		return;
	drover_mutex_lock(&c->lock);
	get_mark(s, number);
	drover_mutex_unlock(&c->lock);
}

int cuda_queue_wait(struct stream *s, struct stream *other, uint64_t number)
{
	struct cuda_stream *c = other->device_private;
	struct cuda_mark *mark;
	cu_context context;
	int err;

	number_wait(&other->posted, number, NULL);
	/* Of another device, perhaps: an event is in its stream's context. */
	err = CUDA_CALL(context_push, c->context);
	if (err)
		return err;
	drover_mutex_lock(&c->lock);
	mark = get_mark(other, number);
	CUDA_CALL(context_pop, &context);
	err = EIO;
	if (mark)
		err = CUDA_CALL(stream_wait_event, s->native, mark->event, 0);
	drover_mutex_unlock(&c->lock);
	return err;
}

/* ---- what is done ---- */

/* Neither done nor lost: it is not done yet, or a capture forbids to ask. */
static bool is_unknown(cu_result result)
{
	return result == CU_NOT_READY ||
	       (result >= CU_CAPTURE_FIRST && result <= CU_CAPTURE_LAST);
}

/*
 * All operations up to @number are done. [c->lock], so that no place of the
 * ring is used again before its operation has inherited errors. If @err is set,
 * the driver has lost an operation and all behind it. It does not say which
 * one, so the first that is not done is taken for it.
 */
static void set_done(struct stream *s, uint64_t number, int err)
{
	uint64_t n = stream_done(s) + 1;

	if (err)
		stream_fail(s, n, err);
	for (; n <= number; n++)
		stream_inherit(s, stream_op(s, n));
	number_raise(&s->done, number);
	drop_marks(s);
}

/* Ask, or wait, for @mark; without a mark, for all of the stream. */
static cu_result ask(struct stream *s, const struct cuda_mark *mark, bool wait)
{
	if (mark)
		return wait ? cuda.event_synchronize(mark->event) :
			      cuda.event_query(mark->event);
	return wait ? cuda.stream_synchronize(s->native) :
		      cuda.stream_query(s->native);
}

/*
 * The context cannot be entered any more, as after cuDevicePrimaryCtxReset().
 * So nothing is under way, and no thread has to wait.
 */
static void lose_device(struct stream *s, int err)
{
	struct cuda_stream *c = s->device_private;

	drover_mutex_lock(&c->lock);
	set_done(s, load_acquire(&s->posted.at), err);
	drover_mutex_unlock(&c->lock);
}

void cuda_poll(struct stream *s)
{
	struct cuda_stream *c = s->device_private;
	uint64_t issued = load_acquire(&s->posted.at), done = stream_done(s);
	cu_result result = CU_SUCCESS;
	int mode, err = cuda_enter(s, &mode);

	if (err) {
		lose_device(s, err);
		return;
	}
	drover_mutex_lock(&c->lock);
	for (uint64_t i = c->first; i < c->last && !result; i++) {
		result = ask(s, mark_at(s, i), false);
		done = result ? done : mark_at(s, i)->number;
	}
	/* Operations behind the last mark may be done, too. */
	if (!result && done < issued) {
		result = ask(s, NULL, false);
		done = result ? done : issued;
	}
	set_done(s, done, 0);
	if (result && !is_unknown(result))
		set_done(s, issued, cuda_error(result, "a query"));
	drover_mutex_unlock(&c->lock);
	cuda_leave(&mode);
}

/* ---- waiting ---- */

/* The driver has no wait with a deadline: ask, and sleep in between. */
static cu_result poll_until(struct stream *s, const struct cuda_mark *mark,
			    const struct deadline *deadline)
{
	int64_t sleep_ns = 10000, left;
	futex_word never = 0;
	cu_result result;

	while (is_unknown(result = ask(s, mark, false)) &&
	       (left = time_left(deadline)) > 0) {
		int64_t at = clock_read(deadline->clock) +
			     (sleep_ns < left ? sleep_ns : left);
		struct deadline next = { deadline->clock,
					 { at / NS_PER_S, at % NS_PER_S } };

		futex_wait(&never, 0, &next, false);
		if (sleep_ns < 1000000)
			sleep_ns *= 2;
	}
	return result;
}

int cuda_wait(struct stream *s, uint64_t number,
	      const struct deadline *deadline)
{
	struct cuda_stream *c = s->device_private;
	int err = number_wait(&s->posted, number, deadline), mode;
	uint64_t behind = load_acquire(&s->posted.at);
	struct cuda_mark *mark;
	cu_result result;

	if (err)
		return err;
	err = cuda_enter(s, &mode);
	if (err) {
		lose_device(s, err);
		return 0;
	}
	drover_mutex_lock(&c->lock);
	mark = mark_behind(s, number);
	/* Without a deadline, a wait for all of the stream needs no mark. */
	if (!mark && (deadline || number < behind) && stream_done(s) < number)
		mark = get_mark(s, number);
	if (mark) {
		mark->users++;
		behind = mark->number;
	}
	drover_mutex_unlock(&c->lock);
	result = stream_done(s) >= number ? 0 :
		 deadline		  ? poll_until(s, mark, deadline) :
					    ask(s, mark, true);
	err = cuda_error(result, "a wait");
	drover_mutex_lock(&c->lock);
	if (!is_unknown(result))
		set_done(s, behind, err);
	if (mark)
		put_mark(s, mark);
	drover_mutex_unlock(&c->lock);
	cuda_leave(&mode);
	if (!is_unknown(result))
		return 0;
	return result == CU_NOT_READY ? ETIMEDOUT : EBUSY;
}
