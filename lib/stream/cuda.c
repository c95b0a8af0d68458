// SPDX-License-Identifier: MIT
/*
 * The CUDA backend: a stream is a CUDA stream, a point to wait for is an event
 * recorded behind it.
 *
 * What it declares is what the driver documents: operations of one stream take
 * effect in the order in which they were issued, copies among them; the source
 * of an asynchronous copy from pinned memory may be read until then; and a
 * stream can wait for an event of another one on the same device.
 */
#include "stream/cuda.h"

#include <stdlib.h>
#include <string.h>

#include "stream/cuda_wait.h"
#include "stream/wait.h"

/* Bytes of dynamic shared memory that a kernel has without being asked for. */
#define SHARED_FREE (48u << 10)

/* ---- operations ---- */

/*
 * A host call; or, behind a graph, the error that its host calls have left: a
 * host call inside a graph does not know which stream replays it. Replays of one
 * graph come one by one.
 */
static void host_main(void *arg)
{
	struct op *op = arg;
	int err = op->kind == OP_GRAPH ? swap_relaxed(&op->graph->error, 0) :
					 op->call(op->arg);

	if (err && op->number)
		stream_fail(&streams[op->slot], op->number, err);
	else if (err)
		store_relaxed((_Atomic int *)op->to, err);
}

static int launch(struct stream *s, struct op *op, cu_stream stream)
{
	const drover_kernel_t *k = &op->kernel;
	size_t bytes = op->args_bytes;
	void *extra[] = { CU_LAUNCH_BUFFER_POINTER, op_args(op),
			  CU_LAUNCH_BUFFER_SIZE, &bytes, CU_LAUNCH_END };
	int err = 0;

	if (k->issue)
		return k->issue(stream, op_args(op));
	/* More than that has to be asked for. */
	if (k->shared > SHARED_FREE)
		err = CUDA_CALL(s, function_set, k->function,
				CU_FUNCTION_DYNAMIC_SHARED, (int)k->shared);
	if (err)
		return err;
	return CUDA_CALL(s, launch, k->function, k->grid[0] ?: 1,
			 k->grid[1] ?: 1, k->grid[2] ?: 1, k->block[0] ?: 1,
			 k->block[1] ?: 1, k->block[2] ?: 1, k->shared, stream,
			 NULL, bytes ? extra : NULL);
}

static struct cu_end end_of(const void *memory, size_t pitch)
{
	return (struct cu_end){ .memory_type = CU_MEMORY_UNIFIED,
				.address = (cu_address)(uintptr_t)memory,
				.pitch = pitch };
}

static int copy(struct stream *s, struct op *op, cu_stream stream)
{
	const struct cu_copy_2d rows = {
		.from = end_of(op->from, op->from_pitch),
		.to = end_of(op->to, op->to_pitch),
		.bytes = op->bytes,
		.rows = op->rows,
	};

	return op->rows > 1 ? CUDA_CALL(s, copy_2d, &rows, stream) :
			      CUDA_CALL(s, copy, rows.to.address,
					rows.from.address, op->bytes, stream);
}

static int issue(struct stream *s, struct op *op, cu_stream stream)
{
	int err;

	switch (op->kind) {
	case OP_COPY:
		return op->bytes ? copy(s, op, stream) : 0;
	case OP_SET:
		return CUDA_CALL(s, set, (cu_address)(uintptr_t)op->to,
				 op->byte, op->bytes, stream);
	case OP_RUN:
		return launch(s, op, stream);
	case OP_HOST_CALL:
		return CUDA_CALL(s, host_call, stream, host_main, op);
	case OP_GRAPH:
		err = CUDA_CALL(s, graph_launch, op->graph->device_private,
				stream);
		if (!err && op->graph->calls)
			err = CUDA_CALL(s, host_call, stream, host_main, op);
		return err;
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
		/* Others wait for that one: mark it before more is issued. */
		cuda_make_mark(s, op->mark_first);
		err = wait_for_others(s, op);
		if (!err)
			err = issue(s, op, s->native);
		cuda_leave(s, &mode);
	}
	if (err)
		stream_fail(s, number, err);
	number_raise(&s->posted, number);
	return err;
}

/* ---- graphs and modules ---- */

/*
 * On a stream of its own, for a query of a stream that captures spoils the
 * capture.
 */
static int capture_nodes(struct stream *s, struct drover_graph *graph,
			 cu_graph *captured)
{
	cu_stream stream;
	int err, end;

	err = CUDA_CALL(s, stream_create, &stream, CU_STREAM_NON_BLOCKING, 0);
	if (err)
		return err;
	err = CUDA_CALL(s, capture_begin, stream, CU_CAPTURE_THREAD_LOCAL);
	if (!err) {
		for (size_t i = 0; i < graph->nr_nodes && !err; i++) {
			if (graph->nodes[i].kind == OP_HOST_CALL)
				graph->nodes[i].to = &graph->error;
			err = issue(s, &graph->nodes[i], stream);
		}
		end = CUDA_CALL(s, capture_end, stream, captured);
		err = err ? err : end;
	}
	CUDA_CALL(s, stream_destroy, stream);
	return err;
}

static int cuda_graph_make(struct stream *s, struct drover_graph *graph)
{
	cu_graph captured = NULL;
	cu_graph_exec exec = NULL;
	int mode, err = cuda_enter(s, &mode);

	if (err)
		return err;
	err = capture_nodes(s, graph, &captured);
	if (!err)
		err = CUDA_CALL(s, graph_instantiate, &exec, captured, 0);
	if (captured)
		CUDA_CALL(s, graph_destroy, captured);
	cuda_leave(s, &mode);
	graph->device_private = exec;
	return err;
}

static void cuda_graph_drop(struct drover_graph *graph)
{
	cuda.graph_exec_destroy(graph->device_private);
}

/* A module stays loaded: any graph and any stream may use its kernels. */
static int cuda_load_kernel(struct stream *s, const void *image,
			    const char *name, drover_kernel_t *kernel)
{
	cu_function function;
	cu_module module;
	int mode, err = cuda_enter(s, &mode);

	if (err)
		return err;
	err = CUDA_CALL(s, module_load, &module, image);
	if (!err)
		err = CUDA_CALL(s, module_function, &function, module, name);
	cuda_leave(s, &mode);
	if (!err)
		kernel->function = function;
	return err;
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
		err = CUDA_CALL(s, host_register, *memory, bytes,
				CU_HOST_REGISTER_PORTABLE);
	} else if (kind == MEMORY_HOST) {
		err = CUDA_CALL(s, host_alloc, memory, bytes,
				CU_HOST_ALLOC_PORTABLE);
	} else {
		err = CUDA_CALL(s, alloc, &address, bytes);
		if (!err)
			*memory = (void *)(uintptr_t)address;
	}
	cuda_leave(s, &mode);
	return err;
}

static void cuda_free(struct stream *s, void *memory, enum memory kind)
{
	int mode;

	if (cuda_enter(s, &mode))
		return;
	if (kind == MEMORY_PINNED)
		CUDA_CALL(s, host_unregister, memory);
	else if (kind == MEMORY_HOST)
		CUDA_CALL(s, host_free, memory);
	else
		CUDA_CALL(s, free, (cu_address)(uintptr_t)memory);
	cuda_leave(s, &mode);
}

/* ---- beginning and end ---- */

/* A stream of ours, or the caller's. */
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
	err = stream ? CUDA_CALL(s, stream_context, stream, &context) :
		       CUDA_CALL(s, stream_create, &stream,
				 CU_STREAM_NON_BLOCKING, attr->priority);
	s->native = stream;
	if (!err && context != c->context)
		err = stream_because(
			EINVAL, "not in the primary context of the device");
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
	err = CUDA_CALL(s, device_get, &device, (int)s->device);
	/* It stays for good: memory, kernels and graphs outlive streams. */
	if (!err)
		err = CUDA_CALL(s, context_retain, &c->context, device);
	if (!err)
		err = cuda_enter(s, &mode);
	if (!err) {
		err = open_stream(s, attr);
		cuda_leave(s, &mode);
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
			CUDA_CALL(s, stream_destroy, s->native);
		cuda_leave(s, &mode);
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
	.load = cuda_load_kernel,
};
