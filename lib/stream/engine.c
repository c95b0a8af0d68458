// SPDX-License-Identifier: MIT
/*
 * The engine: who has to wait for whom.
 *
 * Two operations conflict if they touch the same memory and one of them writes.
 * The later one, B, must not begin before the earlier one, A, is done. That is
 * given already if
 *
 *  - A is known to be done, or
 *  - both are queued in one stream, or
 *  - something in front of B in its queue has waited for A's stream to come
 *    so far, or for one that had: the stream's clock says so.
 *
 * Otherwise B is made to wait: by the device if B is queued and the backend can
 * wait for A's stream, by the host if not.
 *
 * A wait for operation N of a stream is a wait for all of its operations up to
 * N. So the newest conflict of each stream is all that has to be looked for, a
 * clock is one number for each stream, and who waits for N also gets, by
 * transitivity, the clock that was valid behind N.
 */
#include "stream/stream.h"

struct footprint op_footprint(const struct op *op)
{
	return (struct footprint){
		.accesses = op_accesses(op),
		.nr = op->kind == OP_GRAPH ? op->graph->nr_accesses :
					     op->nr_accesses,
		.anything = op->anything,
	};
}

static uint64_t max_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static bool overlap(const drover_access_t *a, const drover_access_t *b)
{
	uintptr_t start_a = (uintptr_t)a->start, start_b = (uintptr_t)b->start;

	return start_a < start_b + b->bytes && start_b < start_a + a->bytes;
}

/* Whether @first and @second touch the same memory in these ways. */
static bool meet(const struct footprint *first, uint32_t kind_first,
		 const struct footprint *second, uint32_t kind_second)
{
	if (first->anything || second->anything)
		return true;
	for (size_t i = 0; i < first->nr; i++) {
		if (!(first->accesses[i].kind & kind_first))
			continue;
		for (size_t j = 0; j < second->nr; j++)
			if (second->accesses[j].kind & kind_second &&
			    overlap(&first->accesses[i], &second->accesses[j]))
				return true;
	}
	return false;
}

static bool conflict(const struct footprint *a, const struct footprint *b)
{
	const uint32_t any = DROVER_READ | DROVER_WRITE;

	return meet(a, DROVER_WRITE, b, any) || meet(a, any, b, DROVER_WRITE);
}

/* Whether B reads what A writes: if A fails there is nothing to read. */
static bool feeds(const struct footprint *a, const struct footprint *b)
{
	return meet(a, DROVER_WRITE, b, DROVER_READ);
}

/* The newest operation of @other that conflicts with @op, and is not behind. */
static uint64_t newest_conflict(const struct stream *s, const struct op *op,
				struct stream *other)
{
	uint64_t done = load_acquire(&other->done);
	uint64_t known = op->queued ? s->clock[other->slot] : 0;
	struct footprint mine = op_footprint(op);

	/* The usual case at no cost: one stream, and all of it queued. */
	if (s == other && s->backend->copies_queued)
		return 0;
	/* It waits for these first. */
	if (op->queued && s->events[other->slot] > known)
		known = s->events[other->slot];
	if (done > known)
		known = done;
	for (uint64_t n = other->submitted; n > known; n--) {
		const struct op *a = stream_op(other, n);
		struct footprint theirs = op_footprint(a);

		if (s == other && a->queued && op->queued)
			continue;
		if (conflict(&theirs, &mine))
			return n;
	}
	return 0;
}

bool engine_may_fail(const struct stream *s)
{
	return !s->backend->only_calls_fail ||
	       s->call_number > load_acquire(&s->done);
}

/*
 * The newest operation of @other that makes what @op reads, is not done and may
 * fail, without @s having the error then. Whether it is ordered says nothing of
 * that: what is known to be waited for may have been waited for by one that did
 * not read.
 */
static uint64_t newest_feeding(const struct stream *s, const struct op *op,
			       const struct stream *other)
{
	uint64_t known = op->queued ? s->needed[other->slot] : 0;
	struct footprint mine = op_footprint(op);

	/* A stream's own error is the error of all that follow. */
	if (s == other || !engine_may_fail(other))
		return 0;
	/* It waits for these first, and has their errors. */
	if (op->queued)
		known = max_of(known, s->events[other->slot]);
	known = max_of(known, load_acquire(&other->done));
	for (uint64_t n = other->submitted; n > known; n--) {
		struct footprint theirs = op_footprint(stream_op(other, n));

		if (feeds(&theirs, &mine))
			return n;
	}
	return 0;
}

/* The error of a failed operation of @other whose result @op would read. */
static int inherited(const struct op *op, const struct stream *other)
{
	uint64_t n = stream_failed_number(other);
	struct footprint mine = op_footprint(op);

	if (n == NUMBER_NONE)
		return 0;
	for (; n <= other->submitted; n++) {
		struct footprint theirs = op_footprint(stream_op(other, n));

		if (feeds(&theirs, &mine))
			return stream_error_at(other, n);
	}
	return 0;
}

static bool device_can_wait(const struct stream *s, const struct op *op,
			    const struct stream *other)
{
	return op->queued && stream_family(s) == stream_family(other) &&
	       s->device == other->device;
}

/* Put @op behind @other; EAGAIN: the host has to wait. */
static int put_behind(struct stream *s, struct op *op, struct stream *other,
		      struct dependency d, struct need *need)
{
	d.slot = other->slot;
	if (device_can_wait(s, op, other) &&
	    op->nr_dependencies < OP_DEPENDENCIES) {
		op->dependencies[op->nr_dependencies++] = d;
		return 0;
	}
	*need = need_of(other, max_of(d.number, d.needed), NULL);
	return EAGAIN;
}

static int order_behind(struct stream *s, struct op *op, struct stream *other,
			struct need *need)
{
	struct dependency d = {
		.number = newest_conflict(s, op, other),
		.needed = newest_feeding(s, op, other),
	};
	int err;

	/* [S-FAIL] Behind the look at done: it may have failed meanwhile. */
	err = inherited(op, other);
	if (err)
		return stream_because(err, "what it reads was not written");
	/* A look at done that found an operation done is as good as a wait. */
	check_host_knows(other, load_acquire(&other->done));
	if (!(d.number || d.needed) || plant_forgets())
		return 0;
	err = put_behind(s, op, other, d, need);
	if (err)
		need->count = &s->counts.added_host;
	else
		op->nr_added += d.number != 0;
	return err;
}

/* The events that this stream was told to wait for, and not yet has. */
static int order_behind_events(struct stream *s, struct op *op,
			       struct need *need)
{
	for_each_stream(other)
	{
		uint64_t number = s->events[other->slot];
		struct dependency d = { 0 };
		bool may_fail, done;
		int err;

		if (number <= s->clock[other->slot])
			continue;
		may_fail = engine_may_fail(other);
		done = load_acquire(&other->done) >= number;
		/* [S-FAIL] */
		err = done || !may_fail ? event_error(s, other, number) : 0;
		if (err)
			return err;
		if (done) {
			check_host_knows(other, number);
			continue;
		}
		d.number = number;
		d.needed = may_fail ? number : 0;
		err = put_behind(s, op, other, d, need);
		if (err)
			return err;
	}
	return 0;
}

int engine_order(struct stream *s, struct op *op, struct need *need)
{
	int err;

	op->nr_dependencies = op->nr_added = 0;
	err = order_behind_events(s, op, need);
	if (err)
		return err;
	if (s->order == DROVER_ORDER_ENGINE) {
		for_each_stream(other)
		{
			err = order_behind(s, op, other, need);
			if (err)
				return err;
		}
	}
	return 0;
}

static void raise_to(uint64_t *clock, const uint64_t *other)
{
	for (uint32_t i = 0; i < nr_slots; i++)
		if (other[i] > clock[i])
			clock[i] = other[i];
}

void engine_submitted(struct stream *s, struct op *op)
{
	uint64_t *behind = stream_clock_of(s, op->number);

	for (uint32_t i = 0; i < op->nr_dependencies; i++) {
		const struct dependency *d = &op->dependencies[i];
		struct stream *other = &streams[d->slot];

		if (d->number > other->retired)
			raise_to(s->clock, stream_clock_of(other, d->number));
		other->wanted = max_of(other->wanted, d->number);
		if (d->number > s->clock[d->slot])
			s->clock[d->slot] = d->number;
		s->needed[d->slot] = max_of(s->needed[d->slot], d->needed);
	}
	for (uint32_t i = 0; i < nr_slots; i++)
		behind[i] = s->clock[i];
}

void engine_clock(const struct stream *s, uint64_t *clock)
{
	for (uint32_t i = 0; i < nr_slots; i++)
		clock[i] = s->clock[i];
	for_each_stream(other)
	{
		uint64_t number = s->events[other->slot];

		if (number > other->retired)
			raise_to(clock, stream_clock_of(other, number));
		clock[other->slot] = max_of(clock[other->slot], number);
	}
}

static void pass_error_on(const struct stream *from, struct stream *to,
			  const struct op *op)
{
	for (uint32_t i = 0; i < op->nr_dependencies; i++) {
		const struct dependency *d = &op->dependencies[i];
		int err = d->slot == from->slot ?
				  stream_error_at(from, d->needed) :
				  0;

		if (err)
			stream_fail(to, op->number, err);
	}
}

void engine_pass_error_on(const struct stream *s)
{
	if (stream_failed_number(s) == NUMBER_NONE)
		return;
	for_each_stream(other)
	{
		uint64_t n = load_acquire(&other->done);

		while (n++ < other->submitted)
			pass_error_on(s, other, stream_op(other, n));
	}
}

bool engine_host_conflict(const struct footprint *f, struct need *need)
{
	for_each_stream(s)
	{
		uint64_t done = load_acquire(&s->done);

		for (uint64_t n = s->submitted; n > done; n--) {
			struct footprint theirs = op_footprint(stream_op(s, n));

			if (!conflict(&theirs, f))
				continue;
			*need = need_of(s, n, NULL);
			return true;
		}
		check_host_knows(s, done);
	}
	return false;
}
