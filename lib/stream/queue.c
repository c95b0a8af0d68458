// SPDX-License-Identifier: MIT
/* A thread that works off a queue, and the CPU backend, which is just that. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "stream/stream.h"

int stream_thread(pthread_t *thread, void *(*main)(void *), void *arg,
		  bool detached)
{
	sigset_t all, before;
	int err;

	/* A handler of the program's has no business in a thread of ours. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(thread, NULL, main, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		return stream_because(EAGAIN, "no thread: error %d", err);
	if (detached)
		pthread_detach(*thread);
	return 0;
}

/* ---- carrying operations out ---- */

static int perform_copy(const struct op *op)
{
	int err = plant_copy_fails();

	if (err)
		return err;
	if (op->bytes)
		memcpy(op->to, op->from, op->bytes);
	check_source_after(op);
	return 0;
}

static int perform_node(struct op *op)
{
	switch (op->kind) {
	case OP_COPY:
		return perform_copy(op);
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
static int await_dependencies(const struct op *op)
{
	int err = 0;

	for (uint32_t i = 0; i < op->nr_dependencies; i++) {
		const struct dependency *d = &op->dependencies[i];
		struct stream *other = &streams[d->slot];

		stream_use(other); /* [S-USERS] */
		if (load_seq_cst(&other->done) < d->number)
			stream_wait_done(other, d->number, NULL);
		stream_unuse(other);
		if (!err)
			err = stream_error_at(other, d->needed);
	}
	return err;
}

void op_perform(struct stream *s, struct op *op)
{
	int err = await_dependencies(op);

	if (!stream_error_at(s, op->number)) {
		if (!err && op->kind == OP_GRAPH)
			err = perform_graph(op->graph);
		else if (!err)
			err = perform_node(op);
		if (err)
			stream_fail(s, op->number, err);
	}
	if (op->queued)
		stream_finish(s, op);
	else
		stream_finish_unqueued(s, op);
}

/* ---- the queue's thread ---- */

/*
 * [S-POST] The thread says which number it is about to sleep for, then looks at
 * posted; a submitter posts, then looks who sleeps. Store buffering:
 * sequentially consistent on both sides, or an operation could be left lying.
 *
 * A submitter that is late must not take back what the thread has said on its
 * way to the next sleep: that is for a number which it has not posted, and of
 * which nobody would know. Model: post.pml
 */
static void await_post(struct stream *s, uint64_t number)
{
	if (number_linger(&s->posted, number, NULL))
		return;
	for (;;) {
		uint64_t seen;

		store_seq_cst(&s->asleep, number);
		seen = load_seq_cst(&s->posted);
		if (seen >= number)
			break;
		add_relaxed(&s->system_calls, 1);
		sleep_on(low_half(&s->posted), (uint32_t)seen, NULL, false,
			 FUTEX_BITSET_MATCH_ANY, &thread_this.for_streams);
	}
	store_relaxed(&s->asleep, NUMBER_NONE);
}

static void post(struct stream *s, uint64_t number)
{
	uint64_t asleep;

	store_seq_cst(&s->posted, number); /* [S-POST] */
	asleep = load_seq_cst(&s->asleep);
	if (asleep > number || !cas_relaxed(&s->asleep, &asleep, NUMBER_NONE))
		return;
	add_relaxed(&s->system_calls, 1);
	sleep_end(low_half(&s->posted), 1, false);
}

static void *queue_main(void *arg)
{
	struct stream *s = arg;
	uint64_t next = s->first;

	store_relaxed(&s->worker, thread_tid());
	for (;; next++) {
		struct op *op = stream_op(s, next);

		await_post(s, next);
		if (load_relaxed(&s->stop))
			return NULL;
		if (op->queued)
			op_perform(s, op);
		else
			stream_finish_unqueued(s, op);
	}
}

int queue_open(struct stream *s)
{
	return stream_thread(&s->thread, queue_main, s, false);
}

void queue_close(struct stream *s)
{
	int state;

	store_relaxed(&s->stop, 1);
	post(s, s->submitted + 1);
	/* To join is a cancellation point, and no function of a stream is. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_join(s->thread, NULL);
	pthread_setcancelstate(state, &state);
}

int queue_post(struct stream *s)
{
	post(s, s->submitted);
	return 0;
}

/* ---- the CPU backend ---- */

static int cpu_open(struct stream *s, const drover_streamattr_t *attr)
{
	(void)attr;
	return queue_open(s);
}

static int cpu_submit(struct stream *s, struct op *op)
{
	(void)op;
	return queue_post(s);
}

void *memory_alloc(struct stream *s, size_t bytes)
{
	(void)s;
	return aligned_alloc(CACHE_LINE, (bytes + CACHE_LINE - 1) / CACHE_LINE *
						 CACHE_LINE);
}

void memory_free(struct stream *s, void *memory)
{
	(void)s;
	free(memory);
}

const struct backend stream_cpu = {
	.name = "cpu",
	.id = DROVER_BACKEND_CPU,
	.family = FAMILY_THREADS,
	.copies_queued = true,
	.open = cpu_open,
	.close = queue_close,
	.submit = cpu_submit,
	.wait = stream_wait_done,
	.alloc = memory_alloc,
	.free = memory_free,
	.stage_alloc = memory_alloc,
	.stage_free = memory_free,
};
