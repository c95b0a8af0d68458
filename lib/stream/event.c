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
		if (s->backend->mark)
			err = s->backend->mark(s);
		*event = (drover_event_t){ { *stream, s->submitted } };
	}
	stream_leave();
	return err;
}

/* The stream in which an event was recorded, if it still lives. */
static struct stream *stream_of_event(const drover_event_t *event)
{
	uint32_t slot = event->at.stream.name[0];

	if (!event->at.number || slot >= nr_slots ||
	    load_relaxed(&streams[slot].life) != event->at.stream.name[1])
		return NULL;
	return &streams[slot];
}

/* Given already: the event's operations are done, or in front in one queue. */
static bool event_given(const struct stream *s, struct stream *other,
			uint64_t number)
{
	bool in_queue = s == other && s->backend->queue_in_order &&
			s->backend->copies_queued;

	return in_queue || s->clock[other->slot] >= number ||
	       s->events[other->slot] >= number ||
	       stream_is_done(other, number);
}

int event_error(struct stream *s, const struct stream *other, uint64_t number)
{
	int err = stream_error_at(other, number);

	if (err && s != other)
		stream_fail(s, s->submitted + 1, err);
	return err ? stream_because(err, "what the event is for has failed") :
		     0;
}

int event_wait(struct stream *s, const drover_event_t *event, struct need *need)
{
	struct stream *other = stream_of_event(event);
	uint64_t number = event->at.number;
	bool given;
	int err;

	if (!other)
		return 0;
	given = event_given(s, other, number);
	err = event_error(s, other, number);
	if (err)
		return err;
	if (given) {
		if (load_acquire(&other->done) >= number)
			check_host_knows(other, number);
		return 0;
	}
	if (s->backend->device_waits && s->backend->copies_queued &&
	    stream_family(s) == stream_family(other)) {
		s->events[other->slot] = number;
		return 0;
	}
	*need = (struct need){ .on = other, .number = number };
	return EAGAIN;
}

/* What a wait for an event has come to, for the counts. */
static void count_event(struct stream *s, uint64_t deferred, bool waited)
{
	s->counts.asked++;
	if (waited)
		s->counts.waited++;
	else if (deferred)
		s->counts.deferred++;
	else
		s->counts.elided++;
}

static uint64_t events_asked(const struct stream *s)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < nr_slots; i++)
		sum += s->events[i];
	return sum;
}

static int capture_wait(struct stream *s, drover_event_t *event)
{
	struct op op = { .kind = OP_WAIT, .event = event };

	return graph_add(s, &op);
}

int drover_stream_wait_event(drover_stream_t *stream, drover_event_t *event)
{
	bool waited = false;
	int err;

	for (;;) {
		struct need need = { 0 };
		struct stream *s = stream_enter(stream);
		uint64_t before;

		if (!s)
			return EBADF;
		if (s->capture) {
			err = capture_wait(s, event);
			stream_leave();
			return err;
		}
		before = events_asked(s);
		err = stream_error(s);
		if (!err)
			err = event_wait(s, event, &need);
		if (err != EAGAIN)
			count_event(s, events_asked(s) - before, waited);
		stream_leave();
		if (err != EAGAIN)
			return err;
		err = need_wait(&need, stream);
		if (err)
			return err;
		waited = true;
	}
}

/* ---- synchronizations of the host ---- */

/*
 * Up to which operation the host has to wait. Nobody but operations can tell
 * whether one is done that touches device memory alone, and those the engine
 * orders; but not those of a stream whose caller orders them.
 */
static uint64_t host_needs(const struct stream *s)
{
	if (s->order == DROVER_ORDER_CALLER || nr_caller_ordered)
		return s->submitted;
	return s->host_number;
}

static int synchronize(drover_stream_t *stream, bool elidable)
{
	struct stream *s = stream_enter(stream);
	uint64_t number;
	bool done;
	int err;

	if (!s)
		return EBADF;
	if (s->capture) {
		stream_leave();
		return stream_because(EBUSY, "the stream captures");
	}
	number = elidable ? host_needs(s) : s->submitted;
	done = stream_is_done(s, number);
	s->counts.asked += elidable || !done;
	s->counts.elided += elidable && done;
	s->counts.waited += !done;
	stream_leave();
	err = stream_wait(s, number, NULL);
	return err ? err : stream_error(s);
}

int drover_stream_synchronize(drover_stream_t *stream)
{
	return synchronize(stream, true);
}

int drover_stream_drain(drover_stream_t *stream)
{
	return synchronize(stream, false);
}

static int synchronize_step(drover_stream_t *stream, const struct footprint *f,
			    struct need *need, bool waited)
{
	struct stream *s = stream_enter(stream);
	bool conflict;

	if (!s)
		return EBADF;
	if (s->capture) {
		stream_leave();
		return stream_because(EBUSY, "the stream captures");
	}
	conflict = engine_host_conflict(f, need);
	if (!conflict) {
		s->counts.asked++;
		if (waited)
			s->counts.waited++;
		else
			s->counts.elided++;
	}
	stream_leave();
	return conflict ? EAGAIN : 0;
}

int drover_stream_synchronize_for(drover_stream_t *stream,
				  const drover_access_t *accesses,
				  size_t nr_accesses)
{
	struct footprint f = { .accesses = accesses,
			       .nr = nr_accesses,
			       .anything = !accesses };
	struct need need = { 0 };
	bool waited = false;
	int first = 0, err;

	while ((err = synchronize_step(stream, &f, &need, waited)) == EAGAIN) {
		err = stream_wait(need.on, need.number, NULL);
		if (err)
			return err;
		err = stream_error_at(need.on, need.number);
		first = first ? first : err;
		waited = true;
	}
	return err ? err : first;
}
