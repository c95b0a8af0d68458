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
#include <stdlib.h>
#include <string.h>

#include "stream/cuda.h"
#include "base/thread.h"

/* ---- operations ---- */

static void fail_from_host(struct op *op, int err)
{
	struct stream *s = &streams[op->slot];
	uint64_t number = op->number;

	/* In a graph there is no number: all that is under way is meant. */
	stream_fail(s, number ? number : load_acquire(&s->done) + 1, err);
}

static void host_main(void *arg)
{
	struct op *op = arg;
	struct stream *s = &streams[op->slot];
	int err;

	store_relaxed(&s->worker, thread_tid());
	err = op->call(op->arg);
	store_relaxed(&s->worker, 0);
	if (err)
		fail_from_host(op, err);
}

/* In front of an operation: what it reads may not have been made. */
static void inherit_main(void *arg)
{
	const struct op *op = arg;

	for (uint32_t i = 0; i < op->nr_dependencies; i++) {
		const struct dependency *d = &op->dependencies[i];
		int err = stream_error_at(&streams[d->slot], d->needed);

		if (err)
			stream_fail(&streams[op->slot], op->number, err);
	}
}

static unsigned int at_least_1(uint32_t n)
{
	return n ? n : 1;
}

static int launch(struct stream *s, struct op *op)
{
	const drover_kernel_t *k = &op->kernel;
	size_t bytes = op->args_bytes;
	void *extra[] = { CU_LAUNCH_BUFFER_POINTER, op_args(op),
			  CU_LAUNCH_BUFFER_SIZE, &bytes, CU_LAUNCH_END };

	return CUDA_CALL(s, launch, k->function, at_least_1(k->grid[0]),
			 at_least_1(k->grid[1]), at_least_1(k->grid[2]),
			 at_least_1(k->block[0]), at_least_1(k->block[1]),
			 at_least_1(k->block[2]), k->shared,
			 cuda_private(s)->stream, NULL, bytes ? extra : NULL);
}

static int issue(struct stream *s, struct op *op)
{
	cu_stream stream = cuda_private(s)->stream;

	switch (op->kind) {
	case OP_COPY:
		if (!op->bytes)
			return 0;
		return CUDA_CALL(s, copy, (cu_address)(uintptr_t)op->to,
				 (cu_address)(uintptr_t)op->from, op->bytes,
				 stream);
	case OP_RUN:
		return launch(s, op);
	case OP_HOST_CALL:
		return CUDA_CALL(s, host_call, stream, host_main, op);
	case OP_GRAPH:
		return CUDA_CALL(s, graph_launch, op->graph->device_private,
				 stream);
	default:
		return 0;
	}
}

static int wait_for_event(struct stream *s, const struct dependency *d)
{
	struct cuda_mark *mark =
		d->number ? cuda_mark_behind(cuda_private(&streams[d->slot]),
					     d->number) :
			    NULL;

	/* No mark: done since it was made. */
	if (!mark)
		return 0;
	return CUDA_CALL(s, stream_wait_event, cuda_private(s)->stream,
			 mark->event, 0);
}

/*
 * A host call that fails does not stop the device, and what others make of its
 * result is no result.
 */
static int wait_for_others(struct stream *s, struct op *op)
{
	bool may_fail = false;
	int err = 0;

	for (uint32_t i = 0; i < op->nr_dependencies && !err; i++) {
		const struct dependency *d = &op->dependencies[i];
		const struct stream *other = &streams[d->slot];

		err = wait_for_event(s, d);
		if (d->needed && engine_may_fail(other))
			may_fail = true;
		else if (!err) /* [S-FAIL] */
			err = stream_error_at(other, d->needed);
	}
	if (err)
		return stream_because(err, "what it reads was not written");
	if (!may_fail)
		return 0;
	return CUDA_CALL(s, host_call, cuda_private(s)->stream, inherit_main,
			 op);
}

static int cuda_submit(struct stream *s, struct op *op)
{
	int err;

	cuda_enter(s);
	err = wait_for_others(s, op);
	if (!err)
		err = issue(s, op);
	if (!err && op->ticketed)
		err = cuda_make_mark(s);
	cuda_leave(s);
	return err;
}

/* ---- graphs and modules ---- */

static int capture_nodes(struct stream *s, struct drover_graph *graph,
			 cu_graph *captured)
{
	cu_stream stream = cuda_private(s)->stream;
	int err, end;

	err = CUDA_CALL(s, capture_begin, stream, CU_CAPTURE_THREAD_LOCAL);
	if (err)
		return err;
	for (size_t i = 0; i < graph->nr_nodes && !err; i++)
		err = issue(s, &graph->nodes[i]);
	end = CUDA_CALL(s, capture_end, stream, captured);
	return err ? err : end;
}

static int cuda_graph_make(struct stream *s, struct drover_graph *graph)
{
	cu_graph captured = NULL;
	cu_graph_exec exec = NULL;
	int err;

	cuda_enter(s);
	err = capture_nodes(s, graph, &captured);
	if (!err)
		err = CUDA_CALL(s, graph_instantiate, &exec, captured, 0);
	if (captured)
		CUDA_CALL(s, graph_destroy, captured);
	cuda_leave(s);
	graph->device_private = exec;
	return err;
}

static void cuda_graph_drop(struct drover_graph *graph)
{
	cuda.graph_exec_destroy(graph->device_private);
}

static int cuda_load_kernel(struct stream *s, const void *image,
			    const char *name, drover_kernel_t *kernel)
{
	struct cuda_stream *c = cuda_private(s);
	cu_module *more, module;
	cu_function function;
	int err;

	more = realloc(c->modules, (c->nr_modules + 1) * sizeof(*more));
	if (!more)
		return stream_because(ENOMEM, "no memory");
	c->modules = more;
	cuda_enter(s);
	err = CUDA_CALL(s, module_load, &module, image);
	if (!err) {
		c->modules[c->nr_modules++] = module;
		err = CUDA_CALL(s, module_function, &function, module, name);
	}
	cuda_leave(s);
	if (!err)
		kernel->function = function;
	return err;
}

/* ---- memory ---- */

static void *cuda_alloc(struct stream *s, size_t bytes)
{
	cu_address address = 0;

	cuda_enter(s);
	if (CUDA_CALL(s, alloc, &address, bytes))
		address = 0;
	cuda_leave(s);
	return (void *)(uintptr_t)address;
}

static void cuda_free(struct stream *s, void *memory)
{
	cuda_enter(s);
	CUDA_CALL(s, free, (cu_address)(uintptr_t)memory);
	cuda_leave(s);
}

static void *cuda_stage_alloc(struct stream *s, size_t bytes)
{
	void *memory = NULL;

	cuda_enter(s);
	if (CUDA_CALL(s, host_alloc, &memory, bytes, CU_HOST_ALLOC_PORTABLE))
		memory = NULL;
	cuda_leave(s);
	return memory;
}

static void cuda_stage_free(struct stream *s, void *memory)
{
	cuda_enter(s);
	CUDA_CALL(s, host_free, memory);
	cuda_leave(s);
}

/* ---- beginning and end ---- */

static int open_on_device(struct stream *s)
{
	struct cuda_stream *c = cuda_private(s);
	int err;

	err = CUDA_CALL(s, device_get, &c->device, (int)s->device);
	if (err)
		return err;
	err = CUDA_CALL(s, context_retain, &c->context, c->device);
	if (err)
		return err;
	cuda_enter(s);
	err = CUDA_CALL(s, stream_create, &c->stream, CU_STREAM_NON_BLOCKING);
	cuda_leave(s);
	if (err)
		cuda.context_release(c->device);
	return err;
}

static int cuda_open(struct stream *s, const drover_streamattr_t *attr)
{
	int err = cuda_load();

	(void)attr;
	if (err)
		return err;
	s->device_private = calloc(1, sizeof(struct cuda_stream));
	if (!s->device_private)
		return stream_because(ENOMEM, "no memory");
	err = open_on_device(s);
	if (err)
		free(s->device_private);
	return err;
}

static void close_on_device(struct stream *s)
{
	struct cuda_stream *c = cuda_private(s);

	cuda_enter(s);
	cuda_drop_marks(s);
	for (size_t i = 0; i < c->nr_marks; i++)
		CUDA_CALL(s, event_destroy, c->marks[i].event);
	for (size_t i = 0; i < c->nr_spare; i++)
		CUDA_CALL(s, event_destroy, c->spare[i]);
	for (size_t i = 0; i < c->nr_modules; i++)
		CUDA_CALL(s, module_unload, c->modules[i]);
	CUDA_CALL(s, stream_destroy, c->stream);
	cuda_leave(s);
	CUDA_CALL(s, context_release, c->device);
}

static void cuda_close(struct stream *s)
{
	struct cuda_stream *c = cuda_private(s);

	close_on_device(s);
	free(c->marks);
	free(c->spare);
	free(c->modules);
	free(c);
	s->device_private = NULL;
}

const struct backend stream_cuda = {
	.name = "cuda",
	.id = DROVER_BACKEND_CUDA,
	.family = FAMILY_CUDA,
	.copies_queued = true,
	.only_calls_fail = true,
	.open = cuda_open,
	.close = cuda_close,
	.submit = cuda_submit,
	.wait = cuda_wait,
	.poll = cuda_poll,
	.mark = cuda_mark,
	.alloc = cuda_alloc,
	.free = cuda_free,
	.stage_alloc = cuda_stage_alloc,
	.stage_free = cuda_stage_free,
	.graph_make = cuda_graph_make,
	.graph_drop = cuda_graph_drop,
	.load = cuda_load_kernel,
};
