// SPDX-License-Identifier: MIT
/*
 * The eager backend, for tests: kernels and host calls take their turn, but a
 * copy starts on a thread of its own the moment it is submitted, and nothing
 * that is submitted later waits for it unless told to. It is as unhelpful as an
 * asynchronous device may be, and what works here rests on no assumption.
 */
#include "stream/stream.h"

#ifdef STREAM_EAGER

static void *copy_main(void *arg)
{
	struct op *op = arg;
	struct stream *s = &streams[op->slot];

	plant_dawdle();
	op_perform(s, op);
	stream_unuse(s);
	return NULL;
}

static int eager_open(struct stream *s, const drover_streamattr_t *attr)
{
	(void)attr;
	return queue_open(s);
}

static int eager_submit(struct stream *s, struct op *op)
{
	pthread_t thread;
	int err;

	queue_post(s);
	if (op->queued)
		return 0;
	stream_use(s);
	err = stream_thread(&thread, copy_main, op, true);
	if (err) {
		stream_unuse(s);
		stream_fail(s, op->number, err);
		stream_finish_unqueued(s, op);
	}
	return err;
}

const struct backend stream_eager = {
	.name = "eager",
	.id = DROVER_BACKEND_EAGER,
	.family = FAMILY_THREADS,
	.copies_queued = false,
	.open = eager_open,
	.close = queue_close,
	.submit = eager_submit,
	.wait = stream_wait_done,
	.alloc = memory_alloc,
	.free = memory_free,
	.stage_alloc = memory_alloc,
	.stage_free = memory_free,
};
#endif
