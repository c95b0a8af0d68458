// SPDX-License-Identifier: MIT
/* Events, and the host's synchronizations. */
#include "stream/stream.h"

int drover_stream_record(drover_stream_t *stream, drover_event_t *event)
{
	struct stream *s = stream_enter(stream);
	int err = 0;

	if (!s)
		return EBADF;
	if (s->capture) {
		struct op op = { .kind = OP_RECORD, .event = event };

		err = graph_add(s, &op);
	} else {
		s->wanted = s->submitted;
		*event = (drover_event_t){ { *stream, s->submitted } };
	}
	drover_mutex_unlock(&stream_lock);
	return err;
}

int event_order(struct stream *s, struct op *op, const drover_event_t *event,
		struct need *need)
{
	const drover_stream_t *name = &event->at.stream;
	struct stream *other = &streams[name->name[0] % STREAM_MAX];
	uint64_t number = event->at.number;
	int err = 0;

	/* Of a stream that is gone all is done. */
	if (load_relaxed(&other->life) == name->name[1] &&
	    !(s == other && s->backend->copies_queued) &&
	    s->clock[other->slot] < number) {
		/* [S-FAIL] */
		if (!stream_is_done(other, number))
			err = engine_put_behind(s, op, other, number, need);
		else
			check_host_knows(other, number);
		if (!err && stream_error_at(other, number)) {
			err = stream_error_at(other, number);
			stream_fail(s, s->submitted + 1, err);
			stream_because(err, "what the event is for has failed");
		}
	}
	if (need->on) {
		op->waited = true;
	} else if (op->kind == OP_WAIT) {
		s->counts.asked++;
		s->counts.waited += op->waited;
		s->counts.deferred += !op->waited && op->nr_dependencies;
		s->counts.elided += !op->waited && !op->nr_dependencies;
	}
	return err;
}

int drover_stream_wait_event(drover_stream_t *stream, drover_event_t *event)
{
	struct op op = { .kind = OP_WAIT, .event = event };

	return stream_submit(stream, &op, NULL);
}

/* ---- synchronizations of the host ---- */

/*
 * Up to which operation of @t the host has to wait that is to synchronize with
 * @s. Nobody but operations can tell whether one is done that touches device
 * memory alone, and those the engine orders. What touches host memory counts
 * wherever it is, if something of @s is behind it.
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
			check_host_knows(t, number);
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
