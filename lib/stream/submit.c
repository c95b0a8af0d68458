// SPDX-License-Identifier: MIT
/* Copies, kernels and host calls, from the call to the backend. */
#include <stdlib.h>
#include <string.h>

#include "stream/stream.h"

/* ---- what an operation holds on the heap ---- */

/* What @op touches, and arguments: copied. */
static int op_fill(struct op *op, const drover_access_t *accesses, size_t nr,
		   const void *args, size_t bytes)
{
	op->anything = !accesses;
	op->nr_accesses = accesses ? nr : 0;
	op->args_bytes = args ? bytes : 0;
	if (op->nr_accesses > OP_ACCESSES || op->args_bytes > OP_ARGS) {
		op->heap = malloc(op->args_bytes + 16 +
				  op->nr_accesses * sizeof(*accesses));
		if (!op->heap)
			return stream_because(ENOMEM, "no memory");
	}
	if (op->nr_accesses)
		memcpy((void *)op_accesses(op), accesses,
		       nr * sizeof(*accesses));
	if (op->args_bytes)
		memcpy(op_args(op), args, bytes);
	return 0;
}

void op_free(struct op *op)
{
	free(op->heap);
	free(op->source);
	op->heap = op->source = NULL;
	if (op->graph)
		graph_put(op->graph);
	op->graph = NULL;
}

/*
 * What has failed, and all behind it, stays: others may want to read what it
 * should have written.
 */
void stream_retire(struct stream *s)
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

/* ---- submitting ---- */

static int room_in_ring(struct stream *s, struct need *need)
{
	stream_retire(s);
	if (s->submitted - s->retired < s->depth)
		return 0;
	s->counts.throttled++;
	return need_of(need, s, s->retired + 1);
}

/* The host itself is going to read the source of a staged copy. */
static int host_reads_source(struct stream *s, struct op *op, struct need *need)
{
	struct op read = { .nr_accesses = 1,
			   .accesses = {
				   { op->from, op->bytes, DROVER_READ } } };
	struct footprint f = op_footprint(&read);
	int err = s->order == DROVER_ORDER_ENGINE ?
			  engine_order(s, &read, need) :
			  0;

	if (!err)
		check_host_touches(&f, op->caller);
	return err;
}

static int check_kernel(const struct stream *s, const struct op *op)
{
	const drover_kernel_t *k = &op->kernel;

	if (op->kind != OP_RUN ||
	    (s->backend->cuda ? k->function || k->issue : k->run || k->part))
		return 0;
	return stream_because(EINVAL, "not a kernel for the %s backend",
			      s->backend->name);
}

/* All that can make the caller wait or fail, before there is a number. */
static int prepare(struct stream *s, struct op *op, struct need *need)
{
	int err = check_kernel(s, op);

	/* Its turn is for the copy out of the staging memory: the write. */
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
		err = event_order(s, op, op->event, need);
	if (!err && !s->capture && op->kind == OP_GRAPH)
		err = graph_order(s, op, need);
	if (!err && !s->capture && s->order == DROVER_ORDER_ENGINE)
		err = engine_order(s, op, need);
	if (!err && op->staged)
		err = staging_take(s, op, need);
	return err;
}

/*
 * Which points are to be marked, so that who waits does not wait for more: what
 * somebody has asked for, and every so many operations, for the ring and the
 * staging memory go round.
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
	s->counts.operations++;
	s->counts.read_backs += op->blocks;
	s->counts.added_device += op->kind == OP_WAIT ? 0 : op->nr_dependencies;
	want_mark(s, op);
	*stream_op(s, op->number) = *op;
	engine_submitted(s, op);
	check_submit(s, op);
	if (op->kind == OP_GRAPH)
		graph_record_events(s, op);
}

static int submit_step(struct stream *s, void *arg, struct need *need)
{
	struct op *op = arg;
	int err = stream_error(s);

	/* Device memory is read in its turn. */
	if (op->staged && memory_is_device(op->from, op->bytes))
		op->staged = false;
	/* There is never room for it: it is borrowed, and waited for. */
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
	/* But no wait for what is given. */
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
	/* Until it is issued it is not done, and the stream stays. */
	s = &streams[op->slot];
	if (op->staging_end)
		memcpy((void *)op->from, from, op->bytes);
	number_wait(s, &s->posted, op->number - 1, NULL);
	return s->backend->issue(s, stream_op(s, op->number));
}

/* ---- the operations ---- */

/* @bytes: of each row */
static int copy(drover_stream_t *stream, struct op *op, void *to,
		const void *from, size_t bytes, drover_ticket_t *ticket)
{
	size_t last = bytes && op->rows ? op->rows - 1 : 0;
	const drover_access_t accesses[] = {
		{ to, last * op->to_pitch + bytes, DROVER_WRITE },
		{ from, last * op->from_pitch + bytes, DROVER_READ },
	};
	drover_ticket_t own;
	int err;

	if (bytes && (!to || !from))
		return stream_because(EINVAL, "a copy from or to NULL");
	if (access_conflict(&accesses[0], &accesses[1]))
		return stream_because(EINVAL, "a copy onto itself");
	op->to = to;
	op->from = from;
	op->bytes = bytes;
	op->rows = bytes ? last + 1 : 0;
	op_fill(op, accesses, 2, NULL, 0);
	err = stream_submit(stream, op, ticket);
	own = (drover_ticket_t){ *stream, op->number };
	if (!err && op->blocks)
		err = drover_ticket_wait(&own, CLOCK_MONOTONIC, NULL);
	return err;
}

int drover_stream_copy_staged(drover_stream_t *stream, void *to,
			      const void *from, size_t bytes,
			      drover_ticket_t *ticket)
{
	struct op op = { .staged = true,
			 .caller = __builtin_return_address(0) };

	return copy(stream, &op, to, from, bytes, ticket);
}

int drover_stream_copy_borrowed(drover_stream_t *stream, void *to,
				const void *from, size_t bytes,
				drover_ticket_t *ticket)
{
	struct op op = { .caller = __builtin_return_address(0) };

	return copy(stream, &op, to, from, bytes, ticket);
}

int drover_stream_copy_rows(drover_stream_t *stream, void *to, size_t to_pitch,
			    const void *from, size_t from_pitch, size_t bytes,
			    size_t rows, drover_ticket_t *ticket)
{
	struct op op = { .rows = rows,
			 .to_pitch = to_pitch,
			 .from_pitch = from_pitch,
			 .caller = __builtin_return_address(0) };
	size_t pitch = to_pitch > from_pitch ? to_pitch : from_pitch;

	if (bytes && rows > 1 &&
	    (to_pitch < bytes || from_pitch < bytes ||
	     pitch > (SIZE_MAX - bytes) / (rows - 1)))
		return stream_because(EINVAL, "rows that overlap, or no end");
	return copy(stream, &op, to, from, rows ? bytes : 0, ticket);
}

int drover_stream_copy(drover_stream_t *stream, void *to, const void *from,
		       size_t bytes)
{
	struct op op = { .blocks = true,
			 .caller = __builtin_return_address(0) };

	return copy(stream, &op, to, from, bytes, NULL);
}

int drover_stream_set(drover_stream_t *stream, void *to, int byte, size_t bytes,
		      drover_ticket_t *ticket)
{
	drover_access_t access = { to, bytes, DROVER_WRITE };
	struct op op = { .kind = OP_SET,
			 .to = to,
			 .byte = (unsigned char)byte,
			 .bytes = bytes,
			 .caller = __builtin_return_address(0) };

	if (!to || !bytes)
		return stream_because(EINVAL, "no bytes to be set");
	op_fill(&op, &access, 1, NULL, 0);
	return stream_submit(stream, &op, ticket);
}

int drover_stream_run(drover_stream_t *stream, const drover_kernel_t *kernel,
		      const void *args, size_t args_bytes,
		      const drover_access_t *accesses, size_t nr_accesses,
		      drover_ticket_t *ticket)
{
	struct op op = { .kind = OP_RUN,
			 .kernel = *kernel,
			 .caller = __builtin_return_address(0) };
	int err = op_fill(&op, accesses, nr_accesses, args, args_bytes);

	return err ? err : stream_submit(stream, &op, ticket);
}

int drover_stream_host_call(drover_stream_t *stream, int (*call)(void *arg),
			    void *arg, const drover_access_t *accesses,
			    size_t nr_accesses, drover_ticket_t *ticket)
{
	struct op op = { .kind = OP_HOST_CALL,
			 .call = call,
			 .arg = arg,
			 .caller = __builtin_return_address(0) };
	int err;

	if (!call)
		return stream_because(EINVAL, "no function to call");
	err = op_fill(&op, accesses, nr_accesses, NULL, 0);
	return err ? err : stream_submit(stream, &op, ticket);
}

int drover_stream_load(drover_stream_t *stream, const void *image,
		       const char *name, drover_kernel_t *kernel)
{
	struct stream *s = stream_enter(stream);
	int err;

	if (!s)
		return EBADF;
	stream_use(s);
	drover_mutex_unlock(&stream_lock);
	err = s->backend->load ? s->backend->load(s, image, name, kernel) :
				 stream_because(EINVAL, "not for %s streams",
						s->backend->name);
	stream_unuse(s);
	return err;
}
