// SPDX-License-Identifier: GPL-2.0-only
/*
 * The eager backend, for tests. Kernels and host calls take their turn in a
 * queue. A copy starts on a thread of its own when it is submitted, and a later
 * operation waits for it only if the library says so. The backend guarantees as
 * little as an asynchronous device may, so code that works here relies on no
 * other order.
 */
#include <stdlib.h>

#include "eager.h"
#include "stream/queue.h"
#include "stream/wait.h"

#define HALF_FINISHED (UINT64_C(1) << 63)

struct eager_plants eager_plants;

/*
 * Element [N % depth] is N once operation N is done, even if earlier operations
 * are not.
 */
static _Atomic uint64_t *finished_of(struct stream *s, uint64_t number)
{
	_Atomic uint64_t *finished = s->device_private;

	return &finished[number % s->depth];
}

/*
 * [S-PREFIX] A thread marks its operation as done, and then looks at the
 * operations behind @done. Two operations that finish at the same time must not
 * both miss the other's mark, so both sides are sequentially consistent. An
 * operation that was not posted is not looked at, because a submitter may be
 * using its place in the ring. Model: ordering
 */
static void finish(struct stream *s, uint64_t number)
{
	uint64_t next = number;

	store_seq_cst(finished_of(s, next), next);
	for (;;) {
		next = load_seq_cst(&s->done.at) + 1;
		if (next > load_seq_cst(&s->posted.at) ||
		    load_seq_cst(finished_of(s, next)) != next)
			return;
		number_raise(&s->done, next);
	}
}

/*
 * [S-PASS] The queue's thread passes by an operation that another thread
 * carries out, and has to read the operation for that. So the second of these
 * two threads finishes the operation, and has acquired what the first one
 * released: no thread reads the operation any more.
 */
static void pass(struct stream *s, uint64_t number)
{
	uint64_t half = number | HALF_FINISHED;

	if (swap_acq_rel(finished_of(s, number), half) == half)
		finish(s, number);
}

static void turn(struct stream *s, struct op *op)
{
	if (!op->queued) {
		pass(s, op->number);
		return;
	}
	op_perform(s, op);
	finish(s, op->number);
}

static void *copy_main(void *arg)
{
	static _Atomic uint32_t turns;
	uint32_t most = load_relaxed(&eager_plants.late);
	uint32_t left = load_relaxed(&eager_plants.fail_copy);
	struct op *op = arg;
	struct stream *s = &streams[op->slot];

	for (uint32_t n = most ? add_relaxed(&turns, 7919) % most : 0; n; n--)
		sched_yield();
	while (left && !cas_relaxed(&eager_plants.fail_copy, &left, left - 1))
		;
	if (left == 1)
		stream_fail(s, op->number, EIO);
	op_perform(s, op);
	pass(s, op->number);
	stream_unuse(s);
	return NULL;
}

static int issue(struct stream *s, struct op *op)
{
	pthread_t thread;
	int err;

	if (op->queued)
		return queue_issue(s, op);
	stream_use(s);
	queue_issue(s, op);
	err = pthread_create(&thread, NULL, copy_main, op);
	if (!err) {
		pthread_detach(thread);
		return 0;
	}
	stream_unuse(s);
	stream_fail(s, op->number, err);
	pass(s, op->number);
	return err;
}

static int eager_open(struct stream *s, const drover_streamattr_t *attr)
{
	s->device_private = calloc(s->depth, sizeof(uint64_t));
	if (!s->device_private)
		return ENOMEM;
	return queue_open(s, attr);
}

static void eager_close(struct stream *s)
{
	queue_close(s);
	free(s->device_private);
	s->device_private = NULL;
}

static const struct backend eager = {
	.name = "eager",
	.id = DROVER_BACKEND_EAGER,
	.copies_queued = false,
	.open = eager_open,
	.close = eager_close,
	.issue = issue,
	.turn = turn,
	.alloc = memory_alloc,
	.free = memory_free,
};

__attribute__((constructor)) static void start(void)
{
	stream_of_tests = &eager;
}
