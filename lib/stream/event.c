// SPDX-License-Identifier: MIT
/* Events, and the host's synchronizations. */
#include "stream/submit.h"
#include "stream/wait.h"

int drover_stream_record(drover_stream_t *stream, drover_event_t *event)
{
	struct stream *s = stream_enter(stream);
	int err;

	if (!s)
		return EBADF;
	err = stream_captures(s);
	if (!err) {
		s->wanted = s->submitted;
		*event = (drover_event_t){ *stream, s->submitted };
	}
	drover_mutex_unlock(&stream_lock);
	return err;
}

int drover_stream_wait_event(drover_stream_t *stream,
			     const drover_event_t *event)
{
	struct op op = { .kind = OP_WAIT, .event = event };

	return stream_submit(stream, &op, NULL);
}

/* ---- synchronizations of the host ---- */

/*
 * Return: the operation of @t for which the host has to wait when it
 * synchronizes with @s. If an operation touches device memory alone, the host
 * cannot tell whether it is done. Only other operations can tell, and the
 * engine orders those. An operation that touches host memory counts in any
 * stream, if an operation of @s is behind it.
 */
static uint64_t host_needs(const struct stream *s, const struct stream *t,
			   bool elidable)
{
	uint64_t number = s == t ? s->submitted : s->clock[t->slot];

	if (!elidable || number <= stream_done(t))
		return number;
	return stream_op(t, number)->host_number;
}

static int synchronize(drover_stream_t *stream, bool elidable)
{
	struct stream *s = stream_enter(stream);
	struct need needs[STREAM_MAX];
	size_t nr = 0;
	int err;

	if (!s)
		return EBADF;
	err = stream_captures(s);
	if (err) {
		drover_mutex_unlock(&stream_lock);
		return err;
	}
	for_each_stream(t)
	{
		uint64_t number = host_needs(s, t, elidable);

		if (stream_is_done(t, number))
			OBSERVE(host_knows, t, number);
		else
			need_of(&needs[nr++], t, number);
	}
	s->counts.asked += elidable || nr;
	s->counts.elided += elidable && !nr;
	s->counts.waited += nr != 0;
	stream_use(s);
	drover_mutex_unlock(&stream_lock);
	for (size_t i = 0; i < nr; i++) {
		int waited = need_wait(&needs[i]);

		err = err ? err : waited;
	}
	err = err ? err : stream_error(s);
	stream_unuse(s);
	return err;
}

int drover_stream_synchronize(drover_stream_t *stream)
{
	return synchronize(stream, true);
}

int drover_stream_drain(drover_stream_t *stream)
{
	return synchronize(stream, false);
}
