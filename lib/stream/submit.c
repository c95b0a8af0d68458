// SPDX-License-Identifier: MIT
/* How an operation gets from the call to the backend. */
#include "stream/submit.h"

#include <string.h>

#include "stream/engine.h"
#include "stream/graph.h"
#include "stream/memory.h"
#include "stream/wait.h"

/*
 * Give back the memory of operations that are done. The first one that failed
 * and all behind it are kept: the engine still has to find them as conflicts,
 * so that later operations inherit the error.
 */
static void retire(struct stream *s)
{
	uint64_t done = stream_done(s);
	uint64_t failed = stream_failed_number(s);

	if (failed <= done)
		done = failed - 1;
	while (s->retired < done) {
		struct op *op = stream_op(s, ++s->retired);

		if (op->staging_end)
			s->staging_tail = op->staging_end;
		op_free(op);
	}
}

static int room_in_ring(struct stream *s, struct need *need)
{
	retire(s);
	if (s->submitted - s->retired < s->depth)
		return 0;
	s->counts.added_host++;
	return need_of(need, s, s->retired + 1);
}

/* The host itself is going to read the source of a staged copy. */
static int host_reads_source(struct stream *s, struct op *op, struct need *need)
{
	struct op read = { .nr_accesses = 1,
			   .accesses = {
				   { op->from, op->bytes, DROVER_READ } } };
	int err = s->order == DROVER_ORDER_ENGINE ?
			  engine_order(s, &read, need) :
			  0;

	if (!err)
		OBSERVE(host_touches, op_footprint(&read), op->caller);
	return err;
}

static int check_kernel(const struct stream *s, const struct op *op)
{
	if (op->kind != OP_RUN || (s->backend->cuda ? op->kernel.issue != NULL :
						      op->kernel.run != NULL))
		return 0;
	return stream_because(EINVAL, "not a kernel for the %s backend",
			      s->backend->name);
}

/* Do all that may fail or make the caller wait, before @op has a number. */
static int prepare(struct stream *s, struct op *op, struct need *need)
{
	int err = check_kernel(s, op);

	/* In its turn it reads staging memory: only its write is an access. */
	if (op->staged)
		op->nr_accesses = 1;
	if (!err)
		err = memory_classify(s, op);
	if (!err && !s->capture)
		err = room_in_ring(s, need);
	if (!err && op->staged)
		err = host_reads_source(s, op, need);
	op->nr_dependencies = 0;
	if (!err && !s->capture && op->kind == OP_WAIT)
		err = engine_order_event(s, op, op->event, need);
	if (!err && !s->capture && s->order == DROVER_ORDER_ENGINE)
		err = engine_order(s, op, need);
	if (!err && op->staged)
		err = staging_take(s, op, need);
	return err;
}

/*
 * Choose the operations behind which the backend makes a mark. A thread that
 * waits for one of them then does not wait for more. They are the operations
 * for which a thread has a ticket; and one in each quarter of the ring and of
 * the staging memory.
 */
static void want_mark(struct stream *s, struct op *op)
{
	uint64_t from = stream_done(s), staged = s->staging_tail;

	if (s->wanted > from)
		from = s->wanted;
	if (s->staging_wanted > staged)
		staged = s->staging_wanted;
	op->mark_first = s->wanted;
	if (!op->ticketed && s->submitted - from < s->depth / 4 &&
	    s->staging_head - staged < s->staging_bytes / 4)
		return;
	s->wanted = op->number;
	s->staging_wanted = s->staging_head;
}

static void publish(struct stream *s, struct op *op)
{
	op->number = ++s->submitted;
	if (op->host)
		s->host_number = op->number;
	op->host_number = s->host_number;
	s->counts.read_backs += op->blocks;
	s->counts.added_device += op->kind == OP_WAIT ? 0 : op->nr_dependencies;
	want_mark(s, op);
	*stream_op(s, op->number) = *op;
	engine_submitted(s, op);
	OBSERVE(submitted, s, op);
}

static int submit_step(struct stream *s, void *arg, struct need *need)
{
	struct op *op = arg;
	int err = stream_error(s);

	/* Device memory is read in the copy's turn. */
	if (op->staged && memory_is_device(op->from, op->bytes))
		op->staged = false;
	/* If it can never have room, it is borrowed, and the caller waits. */
	if (op->staged && op->bytes > s->staging_bytes && !s->capture) {
		op->staged = false;
		op->blocks = true;
	}
	if (!err && op->blocks)
		err = stream_called_by_worker(s) ?
			      stream_because(EDEADLK, "a wait for itself") :
			      stream_captures(s);
	if (err)
		return err;
	op->slot = s->slot;
	op->queued = op->kind != OP_COPY || s->backend->copies_queued;
	err = prepare(s, op, need);
	if (err)
		return err;
	if (s->capture)
		return graph_add(s, op);
	/* A wait for an event is no operation if the order is given already. */
	if (op->kind != OP_WAIT || op->nr_dependencies)
		publish(s, op);
	return 0;
}

int stream_submit(const drover_stream_t *name, struct op *op,
		  drover_ticket_t *ticket)
{
	const void *from = op->from;
	struct stream *s;
	int err;

	op->ticketed = ticket;
	err = stream_repeat(name, submit_step, op);
	if (err) {
		drover_mutex_lock(&stream_lock);
		op_free(op);
		drover_mutex_unlock(&stream_lock);
		return err;
	}
	if (ticket)
		*ticket = (drover_ticket_t){ *name, op->number };
	if (!op->number)
		return 0;
	/* The operation is not done until it is issued, so the stream stays. */
	s = &streams[op->slot];
	if (op->staging_end)
		memcpy((void *)op->from, from, op->bytes);
	number_wait(&s->posted, op->number - 1, NULL);
	return s->backend->issue(s, stream_op(s, op->number));
}
