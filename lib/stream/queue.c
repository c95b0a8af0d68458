// SPDX-License-Identifier: MIT
/* A queue that the workers of a pool work off. It is all of the CPU backend. */
#include "stream/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "stream/wait.h"

/* The pool of all queues, while there are any; written with pool_lock. */
static drover_pool_t *pool;

/* ---- carrying out operations ---- */

static int perform(struct op *op)
{
	const struct drover_graph *graph = op->graph;
	int err = 0;

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
	case OP_GRAPH:
		for (size_t i = 0; i < graph->nr_nodes && !err; i++)
			err = perform(&graph->nodes[i]);
		return err;
	default:
		return 0;
	}
}

/* Wait even if @op will not be carried out: others rely on the order. */
static void await_dependencies(const struct op *op)
{
	for (uint32_t i = 0; i < op->nr_dependencies; i++) {
		const struct dependency *d = &op->dependencies[i];
		struct stream *other = &streams[d->slot];

		stream_use(other); /* [S-USERS] */
		if (load_seq_cst(&other->done.at) < d->number)
			number_wait(&other->done, d->number, NULL);
		stream_unuse(other);
	}
}

void op_perform(struct stream *s, struct op *op)
{
	int err;

	await_dependencies(op);
	stream_inherit(s, op);
	if (stream_error_at(s, op->number))
		return;
	err = perform(op);
	if (err && stream_called_by_worker(s))
		stream_fail(s, op->number, err);
}

/* ---- the threads: one pool for all queues, while there are any ---- */

static drover_mutex_t pool_lock = DROVER_MUTEX_INITIALIZER;
static uint32_t nr_queues; /* of the pool; [pool_lock] */

void queue_after_fork(void)
{
	pool_lock = (drover_mutex_t)DROVER_MUTEX_INITIALIZER;
	pool = NULL;
	nr_queues = 0;
}

/* ---- a queue: a task that works off what is posted ---- */

static int queue_main(void *arg);

/*
 * A kernel has ended its thread: it has failed, and so has everything behind
 * it. But if a kernel returns in the child of a fork, the slot does not belong
 * to this thread.
 */
static void queue_left(struct stream **s)
{
	if (!stream_called_by_worker(*s))
		return;
	stream_fail(*s, (*s)->next, ECANCELED);
	queue_main(*s);
}

static int queue_main(void *arg)
{
	struct stream *s __attribute__((cleanup(queue_left))) = arg;
	uint64_t next;

	do {
		store_relaxed(&s->worker, thread_tid());
		for (next = s->next; next <= load_acquire(&s->posted.at);
		     s->next = ++next) {
			s->backend->turn(s, stream_op(s, next));
			if (!stream_called_by_worker(s))
				return 0;
		}
		store_relaxed(&s->worker, 0);
		store_seq_cst(&s->at_work, false); /* [S-QUEUE] */
	} while (load_seq_cst(&s->posted.at) >= next &&
		 !swap_seq_cst(&s->at_work, true));
	stream_unuse(s);
	return 0;
}

/*
 * The pool has as many workers as there are CPUs, for kernels that share out
 * their work. It also has as many as there are queues, so that each queue goes
 * on whatever the kernels of another queue wait for.
 */
int queue_open(struct stream *s, const drover_streamattr_t *unused)
{
	drover_poolattr_t attr = { .workers = cpus_usable(), .name = "stream" };
	int err;

	(void)unused;
	s->next = s->submitted + 1;
	store_relaxed(&s->at_work, false);
	s->task = (struct task){ .function = queue_main,
				 .arg = s,
				 .owner = OWNER_QUEUE };
	drover_mutex_lock(&pool_lock);
	if (nr_queues >= attr.workers)
		attr.workers = nr_queues + 1;
	err = pool ? drover_pool_resize(pool, attr.workers) :
		     drover_pool_create(&pool, &attr);
	s->native = pool;
	nr_queues += !err;
	drover_mutex_unlock(&pool_lock);
	return err ? stream_because(EAGAIN, "no threads: error %d", err) : 0;
}

/* The last queue ends the pool, unless one of the pool's threads calls this. */
void queue_close(struct stream *s)
{
	drover_pool_t *ended = NULL;

	(void)s;
	drover_mutex_lock(&pool_lock);
	if (!--nr_queues && pool && !pool_inside(pool)) {
		ended = pool;
		pool = NULL;
	}
	drover_mutex_unlock(&pool_lock);
	if (!ended)
		return;
	drover_pool_shutdown(ended, DROVER_POOL_DRAIN);
	drover_pool_free(ended);
}

int queue_issue(struct stream *s, struct op *op)
{
	/*
	 * Once posted is raised the stream may end, so it is kept. If the task
	 * is queued here, queue_main() lets go of the stream.
	 */
	stream_use(s);
	number_raise(&s->posted, op->number);
	if (!swap_seq_cst(&s->at_work, true)) /* [S-QUEUE] */
		pool_enqueue_own(pool, &s->task);
	else
		stream_unuse(s);
	return 0;
}

/* ---- the CPU backend ---- */

static void cpu_turn(struct stream *s, struct op *op)
{
	op_perform(s, op);
	number_raise(&s->done, op->number);
}

int memory_alloc(struct stream *s, size_t bytes, enum memory kind,
		 void **memory)
{
	size_t lines = (bytes + CACHE_LINE - 1) / CACHE_LINE;

	(void)s;
	if (kind == MEMORY_PINNED)
		return 0;
	*memory = aligned_alloc(CACHE_LINE, lines * CACHE_LINE);
	return *memory ?
		       0 :
		       stream_because(ENOMEM, "no memory of %zu bytes", bytes);
}

void memory_free(struct stream *s, void *memory, enum memory kind)
{
	(void)s;
	if (kind != MEMORY_PINNED)
		free(memory);
}

const struct backend stream_cpu = {
	.name = "cpu",
	.id = DROVER_BACKEND_CPU,
	.copies_queued = true,
	.open = queue_open,
	.close = queue_close,
	.issue = queue_issue,
	.turn = cpu_turn,
	.alloc = memory_alloc,
	.free = memory_free,
};
