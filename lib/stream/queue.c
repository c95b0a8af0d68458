// SPDX-License-Identifier: MIT
/* A thread that works off a queue, and the CPU backend, which is just that. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "stream/stream.h"

/* ---- carrying operations out ---- */

static int perform_node(struct op *op)
{
	switch (op->kind) {
	case OP_COPY:
		if (op->bytes)
			memcpy(op->to, op->from, op->bytes);
		return 0;
	case OP_SET:
		memset(op->to, op->byte, op->bytes);
		return 0;
	case OP_RUN:
		return op->kernel.run(op_args(op));
	case OP_HOST_CALL:
		return op->call(op->arg);
	default:
		return 0;
	}
}

static int perform_graph(const struct drover_graph *graph)
{
	int err = 0;

	for (size_t i = 0; i < graph->nr_nodes && !err; i++)
		err = perform_node(&graph->nodes[i]);
	return err;
}

/* Wait also where nothing is going to be done: others count on the order. */
static void await_dependencies(const struct op *op)
{
	for (uint32_t i = 0; i < op->nr_dependencies; i++) {
		const struct dependency *d = &op->dependencies[i];
		struct stream *other = &streams[d->slot];

		stream_use(other); /* [S-USERS] */
		if (load_seq_cst(&other->done.at) < d->number)
			stream_wait_done(other, d->number, NULL);
		stream_unuse(other);
	}
}

void op_perform(struct stream *s, struct op *op)
{
	int err;

	await_dependencies(op);
	engine_inherit(s, op);
	if (stream_error_at(s, op->number))
		return;
	err = op->kind == OP_GRAPH ? perform_graph(op->graph) :
				     perform_node(op);
	if (err)
		stream_fail(s, op->number, err);
}

/* ---- the queue's thread ---- */

static void *queue_main(void *arg)
{
	struct stream *s = arg;

	store_relaxed(&s->worker, thread_tid());
	for (uint64_t next = s->first;; next++) {
		number_wait(s, &s->posted, next, NULL);
		if (load_relaxed(&s->stop))
			return NULL;
		s->backend->turn(s, stream_op(s, next));
	}
}

int queue_open(struct stream *s, const drover_streamattr_t *attr)
{
	sigset_t all, before;
	int err;

	(void)attr;
	/* A handler of the program's has no business in a thread of ours. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&s->thread, NULL, queue_main, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err ? stream_because(EAGAIN, "no thread: error %d", err) : 0;
}

void queue_close(struct stream *s)
{
	int state;

	store_relaxed(&s->stop, 1);
	number_raise(s, &s->posted, s->submitted + 1);
	/* To join is a cancellation point, and no function of a stream is. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_join(s->thread, NULL);
	pthread_setcancelstate(state, &state);
}

int queue_submit(struct stream *s, struct op *op)
{
	number_raise(s, &s->posted, op->number);
	return 0;
}

/* ---- the CPU backend ---- */

static void cpu_turn(struct stream *s, struct op *op)
{
	op_perform(s, op);
	number_raise(s, &s->done, op->number);
}

void *memory_alloc(struct stream *s, size_t bytes, bool host)
{
	(void)s;
	(void)host;
	return aligned_alloc(CACHE_LINE, (bytes + CACHE_LINE - 1) / CACHE_LINE *
						 CACHE_LINE);
}

void memory_free(struct stream *s, void *memory, bool host)
{
	(void)s;
	(void)host;
	free(memory);
}

const struct backend stream_cpu = {
	.name = "cpu",
	.id = DROVER_BACKEND_CPU,
	.family = FAMILY_THREADS,
	.copies_queued = true,
	.open = queue_open,
	.close = queue_close,
	.submit = queue_submit,
	.turn = cpu_turn,
	.wait = stream_wait_done,
	.alloc = memory_alloc,
	.free = memory_free,
};
