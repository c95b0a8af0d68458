// SPDX-License-Identifier: MIT
/*
 * The engine: it decides which operation has to wait for which.
 *
 * Two operations conflict if they touch the same memory and one of them writes.
 * The later one, B, must not begin before the earlier one, A, is done. That is
 * given already if
 *
 *  - A is known to be done, or
 *  - both are queued in one stream, or
 *  - an operation in front of B in its queue has waited until A's stream had
 *    come as far as A, or has waited for an operation that had waited so: the
 *    clock of B's stream says so.
 *
 * Otherwise B is made to wait: by the device if B is queued and the backend can
 * wait for A's stream, by the host if not.
 *
 * A wait for operation N of a stream is a wait for all of its operations up to
 * N. Three things follow. Only the newest conflict of each stream has to be
 * found. A clock is one number for each stream. And an operation that waits for
 * N also gets, by transitivity, the clock that was valid behind N.
 */
#include "stream/engine.h"

#include "stream/wait.h"

/*
 * Return: the newest operation of @other that conflicts with @mine and is not
 * known to be done, or 0. All operations up to @known are in front already. An
 * operation that has failed does not count as done.
 *
 * [S-FAIL] The failure is read after done. So if an operation fails and is done
 * meanwhile, this function finds that it is not done, or that it has failed.
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

		if (!(in_queue && a->queued) &&
		    footprint_conflict(&theirs, mine))
			return n;
	}
	/* The host finds that all of it is done: that is as good as a wait. */
	OBSERVE(host_knows, other, done);
	return 0;
}

static int put_behind(struct stream *s, struct op *op, struct stream *other,
		      uint64_t number, struct need *need)
{
	/* Copies, too, have to come behind an event. */
	bool queued = op->kind == OP_WAIT ? s->backend->copies_queued :
					    op->queued;

	/* The host waits where the device cannot. */
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

		/* The usual case costs nothing: one stream, all of it queued. */
		if (s == other && op->queued && s->backend->copies_queued)
			continue;
		number = newest_conflict(other, &mine,
					 op->queued ? s->clock[other->slot] : 0,
					 s == other && op->queued);
		err = stream_error_at(other, number);
		failed = failed ? failed : err;
		if (number && !err)
			err = put_behind(s, op, other, number, need);
		if (need->on) {
			s->counts.added_host++;
			return err;
		}
	}
	if (failed)
		stream_because(failed, "an operation in front has failed");
	return failed;
}

int engine_order_event(struct stream *s, struct op *op,
		       const drover_event_t *event, struct need *need)
{
	const drover_stream_t *name = &event->stream;
	struct stream *other = &streams[name->name[0] % STREAM_MAX];
	uint64_t number = event->number;
	int err = 0;

	/* All operations of a stream that is gone are done. */
	if (load_relaxed(&other->life) == name->name[1] &&
	    !(s == other && s->backend->copies_queued) &&
	    s->clock[other->slot] < number) {
		/* [S-FAIL] */
		if (!stream_is_done(other, number))
			err = put_behind(s, op, other, number, need);
		else
			OBSERVE(host_knows, other, number);
		if (!err && stream_error_at(other, number)) {
			err = stream_error_at(other, number);
			stream_fail(s, s->submitted + 1, err);
			stream_because(err, "the event's operation has failed");
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

void engine_pass_error_on(const struct stream *s)
{
	if (!stream_error_at(s, NUMBER_MAX))
		return;
	for_each_stream(other)
	{
		uint64_t n = stream_done(other);

		while (n++ < other->submitted)
			stream_inherit(other, stream_op(other, n));
	}
}
