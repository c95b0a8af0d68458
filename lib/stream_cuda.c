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

#include "stream_cuda.h"
#include "stream_internal.h"
#include "waiter.h"

/* An event behind operation @number. */
struct mark {
	cu_event event;
	uint64_t number;
};

/**
 * struct cuda_stream - the backend's part of a stream; [stream_lock]
 * @marks: recorded and not known to be done, oldest first
 * @spare: events for new marks
 */
struct cuda_stream {
	cu_device device;
	cu_context context;
	cu_stream stream;
	struct mark *marks;
	size_t nr_marks, max_marks;
	cu_event *spare;
	size_t nr_spare, max_spare;
	cu_module *modules;
	size_t nr_modules;
};

static struct cuda_stream *private_of(const struct stream *s)
{
	return s->device_private;
}

/* Call the driver for @s; an errno value. */
#define CALL(s, member, ...)                 \
	(add_relaxed(&(s)->driver_calls, 1), \
	 cuda_checked(cuda.member(__VA_ARGS__), "the driver's " #member))

static int cuda_checked(cu_result result, const char *called)
{
	return result ? cuda_error(result, called) : 0;
}

/* The caller's own context is current again afterwards. */
static void enter(struct stream *s)
{
	CALL(s, context_push, private_of(s)->context);
}

static void leave(struct stream *s)
{
	cu_context context;

	CALL(s, context_pop, &context);
}

static int reserve(void **array, size_t *max, size_t nr, size_t size)
{
	size_t most = *max ? 2 * *max : 16;
	void *more;

	if (nr < *max)
		return 0;
	more = realloc(*array, most * size);
	if (!more)
		return stream_because(ENOMEM, "no memory");
	*array = more;
	*max = most;
	return 0;
}

/* ---- marks ---- */

static int new_event(struct stream *s, cu_event *event)
{
	struct cuda_stream *c = private_of(s);

	if (c->nr_spare) {
		*event = c->spare[--c->nr_spare];
		return 0;
	}
	return CALL(s, event_create, event, CU_EVENT_DISABLE_TIMING);
}

static void drop_marks(struct stream *s)
{
	struct cuda_stream *c = private_of(s);
	uint64_t done = load_acquire(&s->done);
	size_t nr = 0;

	while (nr < c->nr_marks && c->marks[nr].number <= done) {
		/* Without room it is lost until the stream is closed. */
		if (!reserve((void **)&c->spare, &c->max_spare, c->nr_spare,
			     sizeof(*c->spare)))
			c->spare[c->nr_spare++] = c->marks[nr].event;
		else
			CALL(s, event_destroy, c->marks[nr].event);
		nr++;
	}
	c->nr_marks -= nr;
	memmove(c->marks, c->marks + nr, c->nr_marks * sizeof(*c->marks));
}

/* The oldest mark that is not in front of @number, or NULL. */
static struct mark *mark_behind(struct cuda_stream *c, uint64_t number)
{
	for (size_t i = 0; i < c->nr_marks; i++)
		if (c->marks[i].number >= number)
			return &c->marks[i];
	return NULL;
}

/* With the context current. */
static int make_mark(struct stream *s)
{
	struct cuda_stream *c = private_of(s);
	cu_event event;
	int err;

	drop_marks(s);
	if (load_acquire(&s->done) >= s->submitted ||
	    mark_behind(c, s->submitted))
		return 0;
	err = reserve((void **)&c->marks, &c->max_marks, c->nr_marks,
		      sizeof(*c->marks));
	if (!err)
		err = new_event(s, &event);
	if (err)
		return err;
	err = CALL(s, event_record, event, c->stream);
	if (err) {
		CALL(s, event_destroy, event);
		return err;
	}
	c->marks[c->nr_marks++] = (struct mark){ event, s->submitted };
	return 0;
}

static int cuda_mark(struct stream *s)
{
	int err;

	enter(s);
	err = make_mark(s);
	leave(s);
	return err;
}

/*
 * The driver has lost an operation, and with it all that follow. Which one it
 * was it does not say: the first that is not known to be done.
 */
static void all_lost(struct stream *s, uint64_t last, int err)
{
	stream_fail(s, load_acquire(&s->done) + 1, err);
	stream_set_done(s, last);
}

static void cuda_poll(struct stream *s)
{
	struct cuda_stream *c = private_of(s);
	cu_result result = CU_SUCCESS;

	enter(s);
	for (size_t i = 0; i < c->nr_marks && !result; i++) {
		add_relaxed(&s->driver_calls, 1);
		result = cuda.event_query(c->marks[i].event);
		if (!result)
			stream_set_done(s, c->marks[i].number);
	}
	if (!c->nr_marks) {
		add_relaxed(&s->driver_calls, 1);
		result = cuda.stream_query(c->stream);
		if (!result)
			stream_set_done(s, s->submitted);
	}
	if (result && result != CU_NOT_READY)
		all_lost(s, s->submitted, cuda_error(result, "a query"));
	drop_marks(s);
	leave(s);
}

/* ---- waiting ---- */

/* What a thread waits for without the lock. */
struct awaited {
	cu_event event; /* NULL: all of the stream */
	uint64_t number;
	int err;
};

/* Returns false if @number is done by now. */
static bool choose_awaited(struct stream *s, uint64_t number,
			   struct awaited *awaited)
{
	struct cuda_stream *c = private_of(s);
	struct mark *mark;

	*awaited = (struct awaited){ .number = s->submitted };
	if (load_acquire(&s->done) >= number)
		return false;
	mark = mark_behind(c, number);
	if (!mark && number < s->submitted) {
		awaited->err = make_mark(s);
		mark = mark_behind(c, number);
	}
	if (mark) {
		awaited->event = mark->event;
		awaited->number = mark->number;
	}
	stream_use(s);
	return true;
}

static cu_result look(struct stream *s, const struct awaited *awaited)
{
	add_relaxed(&s->driver_calls, 1);
	return awaited->event ? cuda.event_query(awaited->event) :
				cuda.stream_query(private_of(s)->stream);
}

/* The driver has no wait with a deadline: look, and sleep in between. */
static cu_result poll_until(struct stream *s, const struct awaited *awaited,
			    const struct deadline *deadline)
{
	uint64_t sleep_ns = 10000;
	futex_word never = 0;
	cu_result result;

	while ((result = look(s, awaited)) == CU_NOT_READY) {
		struct deadline next = { .clock = deadline->clock };

		clock_gettime(next.clock, &next.at);
		next.at.tv_nsec += (long)sleep_ns;
		if (next.at.tv_nsec >= 1000000000) {
			next.at.tv_nsec -= 1000000000;
			next.at.tv_sec++;
		}
		if (next.at.tv_sec > deadline->at.tv_sec ||
		    (next.at.tv_sec == deadline->at.tv_sec &&
		     next.at.tv_nsec >= deadline->at.tv_nsec))
			return look(s, awaited);
		add_relaxed(&s->system_calls, 1);
		futex_wait(&never, 0, &next, false);
		if (sleep_ns < 1000000)
			sleep_ns *= 2;
	}
	return result;
}

static cu_result await(struct stream *s, const struct awaited *awaited,
		       const struct deadline *deadline)
{
	if (deadline)
		return poll_until(s, awaited, deadline);
	add_relaxed(&s->driver_calls, 1);
	return awaited->event ? cuda.event_synchronize(awaited->event) :
				cuda.stream_synchronize(private_of(s)->stream);
}

static int cuda_wait(struct stream *s, uint64_t number,
		     const struct deadline *deadline)
{
	struct awaited awaited;
	cu_result result;
	bool waits;

	drover_mutex_lock(&stream_lock);
	/* Destroyed meanwhile: then it was waited for. */
	waits = load_acquire(&s->done) < number;
	if (waits) {
		enter(s);
		waits = choose_awaited(s, number, &awaited);
		leave(s);
	}
	drover_mutex_unlock(&stream_lock);
	if (!waits)
		return 0;
	enter(s);
	result = await(s, &awaited, deadline);
	leave(s);
	if (!result)
		stream_set_done(s, awaited.number);
	else if (result != CU_NOT_READY)
		all_lost(s, awaited.number, cuda_error(result, "a wait"));
	stream_unuse(s);
	return result == CU_NOT_READY ? ETIMEDOUT : 0;
}

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

	return CALL(s, launch, k->function, at_least_1(k->grid[0]),
		    at_least_1(k->grid[1]), at_least_1(k->grid[2]),
		    at_least_1(k->block[0]), at_least_1(k->block[1]),
		    at_least_1(k->block[2]), k->shared, private_of(s)->stream,
		    NULL, bytes ? extra : NULL);
}

static int issue(struct stream *s, struct op *op)
{
	cu_stream stream = private_of(s)->stream;

	switch (op->kind) {
	case OP_COPY:
		if (!op->bytes)
			return 0;
		return CALL(s, copy, (cu_address)(uintptr_t)op->to,
			    (cu_address)(uintptr_t)op->from, op->bytes, stream);
	case OP_RUN:
		return launch(s, op);
	case OP_HOST_CALL:
		return CALL(s, host_call, stream, host_main, op);
	case OP_GRAPH:
		return CALL(s, graph_launch, op->graph->device_private, stream);
	default:
		return 0;
	}
}

static int wait_for_others(struct stream *s, const struct op *op)
{
	int err = 0;

	for (uint32_t i = 0; i < op->nr_dependencies && !err; i++) {
		const struct dependency *d = &op->dependencies[i];
		struct mark *mark =
			mark_behind(private_of(&streams[d->slot]), d->number);

		/* No mark: done since it was made. */
		if (mark)
			err = CALL(s, stream_wait_event, private_of(s)->stream,
				   mark->event, 0);
	}
	return err;
}

static int cuda_submit(struct stream *s, struct op *op)
{
	int err;

	enter(s);
	err = wait_for_others(s, op);
	if (!err)
		err = issue(s, op);
	if (!err && op->ticketed)
		err = make_mark(s);
	leave(s);
	return err;
}

/* ---- graphs and modules ---- */

static int capture_nodes(struct stream *s, struct drover_graph *graph,
			 cu_graph *captured)
{
	cu_stream stream = private_of(s)->stream;
	int err, end;

	err = CALL(s, capture_begin, stream, CU_CAPTURE_THREAD_LOCAL);
	if (err)
		return err;
	for (size_t i = 0; i < graph->nr_nodes && !err; i++)
		err = issue(s, &graph->nodes[i]);
	end = CALL(s, capture_end, stream, captured);
	return err ? err : end;
}

static int cuda_graph_make(struct stream *s, struct drover_graph *graph)
{
	cu_graph captured = NULL;
	cu_graph_exec exec = NULL;
	int err;

	enter(s);
	err = capture_nodes(s, graph, &captured);
	if (!err)
		err = CALL(s, graph_instantiate, &exec, captured, 0);
	if (captured)
		CALL(s, graph_destroy, captured);
	leave(s);
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
	struct cuda_stream *c = private_of(s);
	cu_module *more, module;
	cu_function function;
	int err;

	more = realloc(c->modules, (c->nr_modules + 1) * sizeof(*more));
	if (!more)
		return stream_because(ENOMEM, "no memory");
	c->modules = more;
	enter(s);
	err = CALL(s, module_load, &module, image);
	if (!err) {
		c->modules[c->nr_modules++] = module;
		err = CALL(s, module_function, &function, module, name);
	}
	leave(s);
	if (!err)
		kernel->function = function;
	return err;
}

/* ---- memory ---- */

static void *cuda_alloc(struct stream *s, size_t bytes)
{
	cu_address address = 0;

	enter(s);
	if (CALL(s, alloc, &address, bytes))
		address = 0;
	leave(s);
	return (void *)(uintptr_t)address;
}

static void cuda_free(struct stream *s, void *memory)
{
	enter(s);
	CALL(s, free, (cu_address)(uintptr_t)memory);
	leave(s);
}

static void *cuda_stage_alloc(struct stream *s, size_t bytes)
{
	void *memory = NULL;

	enter(s);
	if (CALL(s, host_alloc, &memory, bytes, CU_HOST_ALLOC_PORTABLE))
		memory = NULL;
	leave(s);
	return memory;
}

static void cuda_stage_free(struct stream *s, void *memory)
{
	enter(s);
	CALL(s, host_free, memory);
	leave(s);
}

/* ---- beginning and end ---- */

static int open_on_device(struct stream *s)
{
	struct cuda_stream *c = private_of(s);
	int err;

	err = CALL(s, device_get, &c->device, (int)s->device);
	if (err)
		return err;
	err = CALL(s, context_retain, &c->context, c->device);
	if (err)
		return err;
	enter(s);
	err = CALL(s, stream_create, &c->stream, CU_STREAM_NON_BLOCKING);
	leave(s);
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
	struct cuda_stream *c = private_of(s);

	enter(s);
	drop_marks(s);
	for (size_t i = 0; i < c->nr_marks; i++)
		CALL(s, event_destroy, c->marks[i].event);
	for (size_t i = 0; i < c->nr_spare; i++)
		CALL(s, event_destroy, c->spare[i]);
	for (size_t i = 0; i < c->nr_modules; i++)
		CALL(s, module_unload, c->modules[i]);
	CALL(s, stream_destroy, c->stream);
	leave(s);
	CALL(s, context_release, c->device);
}

static void cuda_close(struct stream *s)
{
	struct cuda_stream *c = private_of(s);

	/* Those on their way out of a wait need no lock for it. */
	stream_await_users(s);
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
	.queue_in_order = true,
	.copies_queued = true,
	.reads_at_submit = false,
	.device_waits = true,
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
