// SPDX-License-Identifier: MIT
/*
 * The CUDA backend. A stream is a CUDA stream, and a point to wait for is an
 * event recorded behind it.
 *
 * The backend declares the order that the driver documents. Operations of one
 * stream, including copies, take effect in the order in which they were issued.
 * The source of an asynchronous copy from pinned memory may be read until the
 * copy takes effect. A stream can wait for an event of another stream on the
 * same device.
 */
#include "stream/cuda.h"

#include <stdlib.h>
#include <string.h>

#include "stream/cuda_wait.h"
#include "stream/wait.h"

/* ---- operations ---- */

static void host_main(void *arg)
{
	struct op *op = arg;
	int err = op->call(op->arg);

	if (err)
		stream_fail(&streams[op->slot], op->number, err);
}

static int issue(struct op *op, cu_stream stream)
{
	int err;

	switch (op->kind) {
	case OP_COPY:
		if (!op->bytes)
			return 0;
		return CUDA_CALL(copy, (cu_address)(uintptr_t)op->to,
				 (cu_address)(uintptr_t)op->from, op->bytes,
				 stream);
	case OP_SET:
		return CUDA_CALL(set, (cu_address)(uintptr_t)op->to, op->byte,
				 op->bytes, stream);
	case OP_RUN:
		err = op->kernel.issue(stream, op_args(op));
		return err ? stream_because(err, "a kernel's issue(): error %d",
					    err) :
			     0;
	case OP_HOST_CALL:
		return CUDA_CALL(host_call, stream, host_main, op);
	case OP_GRAPH:
		return CUDA_CALL(graph_launch, op->graph->device_private,
				 stream);
	default:
		return 0;
	}
}

static int wait_for_others(struct stream *s, struct op *op)
{
	int err = 0;

	for (uint32_t i = 0; i < op->nr_dependencies && !err; i++) {
		const struct dependency *d = &op->dependencies[i];
		struct stream *other = &streams[d->slot];

		stream_use(other); /* [S-USERS] */
		if (load_seq_cst(&other->done.at) < d->number)
			err = cuda_queue_wait(s, other, d->number);
		stream_unuse(other);
	}
	return err;
}

static int cuda_issue(struct stream *s, struct op *op)
{
	uint64_t number = op->number;
	int mode, err;

	err = cuda_enter(s, &mode);
	if (!err) {
		/*
		 * There is a wait for that one: mark it before more is issued.
		 */
		cuda_make_mark(s, op->mark_first);
		err = wait_for_others(s, op);
		if (!err)
			err = issue(op, s->native);
		cuda_leave(&mode);
	}
	if (err)
		stream_fail(s, number, err);
	number_raise(&s->posted, number);
	return err;
}

/* ---- graphs ---- */

/*
 * The capture has a stream of its own, because a query of a stream that
 * captures spoils the capture.
 */
static int capture_nodes(struct drover_graph *graph, cu_graph *captured)
{
	cu_stream stream;
	int err, end;

	err = CUDA_CALL(stream_create, &stream, CU_STREAM_NON_BLOCKING, 0);
	if (err)
		return err;
	err = CUDA_CALL(capture_begin, stream, CU_CAPTURE_THREAD_LOCAL);
	if (!err) {
		for (size_t i = 0; i < graph->nr_nodes && !err; i++)
			err = issue(&graph->nodes[i], stream);
		end = CUDA_CALL(capture_end, stream, captured);
		err = err ? err : end;
	}
	CUDA_CALL(stream_destroy, stream);
	return err;
}

static int cuda_graph_make(struct stream *s, struct drover_graph *graph)
{
	cu_graph captured = NULL;
	cu_graph_exec exec = NULL;
	int mode, err = cuda_enter(s, &mode);

	if (err)
		return err;
	err = capture_nodes(graph, &captured);
	if (!err)
		err = CUDA_CALL(graph_instantiate, &exec, captured, 0);
	if (captured)
		CUDA_CALL(graph_destroy, captured);
	cuda_leave(&mode);
	graph->device_private = exec;
	return err;
}

static void cuda_graph_drop(struct drover_graph *graph)
{
	cuda.graph_exec_destroy(graph->device_private);
}

/* ---- memory ---- */

static int cuda_alloc(struct stream *s, size_t bytes, enum memory kind,
		      void **memory)
{
	cu_address address;
	int mode, err = cuda_enter(s, &mode);

	if (err)
		return err;
	if (kind == MEMORY_PINNED) {
		err = CUDA_CALL(host_register, *memory, bytes,
				CU_HOST_REGISTER_PORTABLE);
	} else if (kind == MEMORY_HOST) {
		err = CUDA_CALL(host_alloc, memory, bytes,
				CU_HOST_ALLOC_PORTABLE);
	} else {
		err = CUDA_CALL(alloc, &address, bytes);
		if (!err)
			*memory = (void *)(uintptr_t)address;
	}
	cuda_leave(&mode);
	return err;
}

static void cuda_free(struct stream *s, void *memory, enum memory kind)
{
	int mode;

	if (cuda_enter(s, &mode))
		return;
	if (kind == MEMORY_PINNED)
		CUDA_CALL(host_unregister, memory);
	else if (kind == MEMORY_HOST)
		CUDA_CALL(host_free, memory);
	else
		CUDA_CALL(free, (cu_address)(uintptr_t)memory);
	cuda_leave(&mode);
}

/* ---- beginning and end ---- */

/* Make a CUDA stream, or take the caller's. */
static int open_stream(struct stream *s, const drover_streamattr_t *attr)
{
	struct cuda_stream *c = s->device_private;
	cu_stream stream = attr->native;
	cu_context context = c->context;
	int err;

	if (attr->native == CU_STREAM_LEGACY ||
	    attr->native == CU_STREAM_PER_THREAD)
		return stream_because(EINVAL, "attr.native: a default stream");
	c->borrowed = stream;
	err = stream ? CUDA_CALL(stream_context, stream, &context) :
		       CUDA_CALL(stream_create, &stream, CU_STREAM_NON_BLOCKING,
				 attr->priority);
	s->native = stream;
	if (!err && context != c->context)
		err = stream_because(
			EINVAL, "attr.native is not in the primary context");
	return err;
}

static int cuda_open(struct stream *s, const drover_streamattr_t *attr)
{
	struct cuda_stream *c;
	cu_device device;
	int err = cuda_load(), mode;

	if (err)
		return err;
	c = calloc(1, sizeof(*c) + s->depth * sizeof(*c->marks));
	s->device_private = c;
	if (!c)
		return stream_because(ENOMEM, "no memory");
	err = CUDA_CALL(device_get, &device, (int)s->device);
	/* It is never released: memory, kernels and graphs outlive streams. */
	if (!err)
		err = CUDA_CALL(context_retain, &c->context, device);
	if (!err)
		err = cuda_enter(s, &mode);
	if (!err) {
		err = open_stream(s, attr);
		cuda_leave(&mode);
	}
	if (err)
		free(c);
	return err;
}

static void cuda_close(struct stream *s)
{
	struct cuda_stream *c = s->device_private;
	int mode, err = cuda_enter(s, &mode);

	cuda_free_marks(s, !err);
	if (!err) {
		if (!c->borrowed)
			CUDA_CALL(stream_destroy, s->native);
		cuda_leave(&mode);
	}
	free(c);
}

const struct backend stream_cuda = {
	.name = "cuda",
	.id = DROVER_BACKEND_CUDA,
	.cuda = true,
	.copies_queued = true,
	.open = cuda_open,
	.close = cuda_close,
	.issue = cuda_issue,
	.wait = cuda_wait,
	.poll = cuda_poll,
	.alloc = cuda_alloc,
	.free = cuda_free,
	.graph_make = cuda_graph_make,
	.graph_drop = cuda_graph_drop,
};
