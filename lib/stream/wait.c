// SPDX-License-Identifier: MIT
/* The host's waits for streams, and the errors that end streams. */
#include "stream/wait.h"

bool stream_called_by_worker(const struct stream *s)
{
	return load_relaxed(&s->worker) == thread_tid();
}

/*
 * Would the calling thread, inside an operation of some stream, wait for that
 * same operation? It would if @number of @s is behind that operation. The clock
 * of @number says so, also if there are other operations in between.
 */
static bool waits_for_itself(struct stream *s, uint64_t number)
{
	bool itself = false;

	/* Only tasks of a pool work queues off. */
	if (!pool_here.worker && !pool_here.top)
		return false;
	drover_mutex_lock(&stream_lock);
	for_each_stream(t)
	{
		if (!stream_called_by_worker(t) || stream_done(s) >= number)
			continue;
		itself |= t == s ||
			  stream_clock_of(s, number)[t->slot] >= t->next;
	}
	drover_mutex_unlock(&stream_lock);
	return itself;
}

int stream_wait(struct stream *s, uint64_t number,
		const struct deadline *deadline)
{
	int err = 0;

	if (stream_done(s) < number) {
		if (waits_for_itself(s, number))
			return stream_because(
				EDEADLK,
				"a kernel or host call would wait for itself");
		err = s->backend->wait ?
			      s->backend->wait(s, number, deadline) :
			      number_wait(&s->done, number, deadline);
	}
	if (!err)
		OBSERVE(host_knows, s, number);
	return err;
}

bool stream_is_done(struct stream *s, uint64_t number)
{
	if (stream_done(s) >= number)
		return true;
	if (s->backend->poll)
		s->backend->poll(s);
	return stream_done(s) >= number;
}

int need_wait(const struct need *need)
{
	int err = stream_wait(need->on, need->number, NULL);

	stream_unuse(need->on);
	return err;
}

int stream_repeat(const drover_stream_t *name,
		  int (*step)(struct stream *s, void *arg, struct need *need),
		  void *arg)
{
	for (;;) {
		struct stream *s = stream_enter(name);
		struct need need = { 0 };
		int err;

		if (!s)
			return EBADF;
		err = step(s, arg, &need);
		drover_mutex_unlock(&stream_lock);
		if (!need.on)
			return err;
		err = need_wait(&need);
		if (err)
			return err;
	}
}

/*
 * ---- errors: the first one is the stream's ----
 *
 * [S-FAIL] An operation fails, then it is done: number_raise() releases the
 * failure with the number. A thread that asks both whether a number is done and
 * whether it has failed reads done first. In the other order it could miss the
 * failure.
 */

void stream_fail(struct stream *s, uint64_t number, int error)
{
	uint64_t code = error > 0 && error < 0x1000 ? (uint64_t)error : EIO;
	uint64_t new = number << 12 | code;
	uint64_t old = load_relaxed(&s->failure);

	while (new < old && !cas_seq_cst(&s->failure, &old, new))
		;
}

uint64_t stream_failed_number(const struct stream *s)
{
	return load_acquire(&s->failure) >> 12;
}

int stream_error_at(const struct stream *s, uint64_t number)
{
	uint64_t failure = load_acquire(&s->failure);

	return failure >> 12 > number ? 0 : (int)(failure & 0xfff);
}

int stream_error(const struct stream *s)
{
	int err = stream_error_at(s, NUMBER_MAX);

	return err ? stream_because(err, "an operation has failed before") : 0;
}

void stream_inherit(struct stream *s, const struct op *op)
{
	for (uint32_t i = 0; i < op->nr_dependencies; i++) {
		const struct dependency *d = &op->dependencies[i];
		int err = stream_error_at(&streams[d->slot], d->number);

		if (err)
			stream_fail(s, op->number, err);
	}
}
