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

bool access_conflict(const drover_access_t *a, const drover_access_t *b)
{
	uintptr_t start_a = (uintptr_t)a->start, start_b = (uintptr_t)b->start;

	return (a->kind | b->kind) & DROVER_WRITE &&
	       start_a < start_b + b->bytes && start_b < start_a + a->bytes;
}

static bool conflict(const struct footprint *a, const struct footprint *b)
{
	if (a->anything || b->anything)
		return true;
	for (size_t i = 0; i < a->nr; i++)
		for (size_t j = 0; j < b->nr; j++)
			if (access_conflict(&a->accesses[i], &b->accesses[j]))
				return true;
	return false;
}

/*
 * The newest operation of @other that conflicts with @mine, of those that are not
 * known to be done or in front, up to @known. Failed ones are never done.
 *
 * [S-FAIL] It asks whether one has failed after it has read done: what fails
 * and is done meanwhile is found to be one or the other.
 */
static uint64_t newest_conflict(const struct stream *other,
				const struct footprint *mine, uint64_t known,
				bool in_queue)
{
	uint64_t done = stream_done(other);
	uint64_t failed = stream_failed_number(other);

	known = known > done ? known : done;
	if (failed <= known)
		known = failed - 1;
	for (uint64_t n = other->submitted; n > known; n--) {
		const struct op *a = stream_op(other, n);
		struct footprint theirs = op_footprint(a);

		if (!(in_queue && a->queued) && conflict(&theirs, mine))
			return n;
	}
	/* To have found it done is as good as a wait. */
	check_host_knows(other, done);
	return 0;
}

int engine_put_behind(struct stream *s, struct op *op, struct stream *other,
		      uint64_t number, struct need *need)
{
	/* Behind an event are copies as well. */
	bool queued = op->kind == OP_WAIT ? s->backend->copies_queued :
					    op->queued;

	/* Otherwise the device can wait. */
	if (!queued || s->backend->cuda != other->backend->cuda ||
	    op->nr_dependencies == OP_DEPENDENCIES)
		return need_of(need, other, number);
	op->dependencies[op->nr_dependencies++] =
		(struct dependency){ .slot = other->slot, .number = number };
	return 0;
}

int engine_order(struct stream *s, struct op *op, struct need *need)
{
	struct footprint mine = op_footprint(op);
	int failed = 0;

	for_each_stream(other)
	{
		uint64_t number;
		int err;

		/* The usual case at no cost: one stream, and all of it queued. */
		if (s == other && op->queued && s->backend->copies_queued)
			continue;
		number = newest_conflict(other, &mine,
					 op->queued ? s->clock[other->slot] : 0,
					 s == other && op->queued);
		err = stream_error_at(other, number);
		failed = failed ? failed : err;
		if (number && !err)
			err = engine_put_behind(s, op, other, number, need);
		if (need->on) {
			s->counts.added_host++;
			return err;
		}
	}
	if (failed)
		stream_because(failed, "what it is to come behind has failed");
	return failed;
}

void engine_submitted(struct stream *s, struct op *op)
{
	uint64_t *behind = stream_clock_of(s, op->number);

	for (uint32_t i = 0; i < op->nr_dependencies; i++) {
		const struct dependency *d = &op->dependencies[i];
		struct stream *other = &streams[d->slot];
		const uint64_t *clock = stream_clock_of(other, d->number);

		for (uint32_t t = 0; d->number > other->retired && t < nr_slots;
		     t++)
			if (clock[t] > s->clock[t])
				s->clock[t] = clock[t];
		if (d->number > other->wanted)
			other->wanted = d->number;
		if (d->number > s->clock[d->slot])
			s->clock[d->slot] = d->number;
	}
	for (uint32_t i = 0; i < nr_slots; i++)
		behind[i] = s->clock[i];
}

void engine_inherit(struct stream *s, const struct op *op)
{
	for (uint32_t i = 0; i < op->nr_dependencies; i++) {
		const struct dependency *d = &op->dependencies[i];
		int err = stream_error_at(&streams[d->slot], d->number);

		if (err)
			stream_fail(s, op->number, err);
	}
}

void engine_pass_error_on(const struct stream *s)
{
	if (!stream_error_at(s, NUMBER_MAX))
		return;
	for_each_stream(other)
	{
		uint64_t n = stream_done(other);

		while (n++ < other->submitted)
			engine_inherit(other, stream_op(other, n));
	}
}
