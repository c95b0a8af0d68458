// SPDX-License-Identifier: MIT
/* Events, and the host's synchronizations. */
#include "stream/stream.h"

/* Whether @s was told to wait for events, and no operation of it does so yet. */
static bool waits_without_operation(const struct stream *s)
{
	for_each_stream(other)
	{
		uint64_t number = s->events[other->slot];

		if (number > s->clock[other->slot] &&
		    number > load_acquire(&other->done))
			return true;
	}
	return false;
}

/* Record behind an operation that does nothing but wait for events. */
static int record_behind_waits(drover_stream_t *stream, drover_event_t *event)
{
	const drover_access_t none = { 0 };
	struct op op = { .kind = OP_RECORD, .ticketed = true };

	op_set_accesses(&op, &none, 0);
	return stream_submit(stream, &op, &event->at);
}

int drover_stream_record(drover_stream_t *stream, drover_event_t *event)
{
	struct stream *s = stream_enter(stream);
	int err = 0;

	if (!s)
		return EBADF;
	if (s->capture) {
		struct op op = { .kind = OP_RECORD, .event = event };

		err = graph_add(s, &op);
	} else if (waits_without_operation(s)) {
		stream_leave();
		return record_behind_waits(stream, event);
	} else {
		s->wanted = s->submitted;
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
	bool in_queue = s == other && s->backend->copies_queued;

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
	if (s->backend->copies_queued &&
	    stream_family(s) == stream_family(other)) {
		s->events[other->slot] = number;
		return 0;
	}
	*need = need_of(other, number, NULL);
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
 * Up to which operation of @t the host has to wait that is to synchronize with
 * @s. Nobody but operations can tell whether one is done that touches device
 * memory alone, and those the engine orders, unless a stream's caller orders
 * them. What touches host memory counts wherever it is, if something of @s is
 * behind it, or waits for an event that is.
 */
static uint64_t host_needs(const struct stream *s, const struct stream *t,
			   const uint64_t *clock, bool elidable)
{
	uint64_t number = s == t ? s->submitted : clock[t->slot];

	if (!elidable || s->order == DROVER_ORDER_CALLER || nr_caller_ordered ||
	    number <= load_acquire(&t->done))
		return number;
	return stream_op(t, number)->host_number;
}

/* Find out what to wait for. Return: how many streams that are. */
static size_t synchronize_with(const struct stream *s, bool elidable,
			       struct need *needs)
{
	uint64_t clock[STREAM_MAX];
	size_t nr = 0;

	engine_clock(s, clock);
	for_each_stream(t)
	{
		uint64_t number = host_needs(s, t, clock, elidable);

		if (stream_is_done(t, number))
			check_host_knows(t, number);
		else
			needs[nr++] = need_of(t, number, NULL);
	}
	return nr;
}

static int synchronize(drover_stream_t *stream, bool elidable)
{
	struct stream *s = stream_enter(stream);
	struct need needs[STREAM_MAX];
	int err = 0;
	size_t nr;

	if (!s)
		return EBADF;
	if (s->capture) {
		stream_leave();
		return stream_because(EBUSY, "the stream captures");
	}
	nr = synchronize_with(s, elidable, needs);
	s->counts.asked += elidable || nr;
	s->counts.elided += elidable && !nr;
	s->counts.waited += nr != 0;
	stream_use(s);
	stream_leave();
	for (size_t i = 0; i < nr; i++) {
		int waited = need_wait(&needs[i], stream);

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
		stream_use(need.on);
		err = need_wait(&need, stream);
		if (!err)
			first = first ? first :
					stream_error_at(need.on, need.number);
		stream_unuse(need.on);
		if (err)
			return err;
		waited = true;
	}
	return err ? err : first;
}
