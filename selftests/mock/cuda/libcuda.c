// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CUDA driver made of threads, for tests without a GPU: the functions of the
 * driver API that the library calls, with what their documentation promises. A
 * stream is a thread that works off a queue, memory is memory, and the kernels
 * of a module are built in: "fill", "add", "token" and "nothing".
 *
 * Beside them, for tests: mock_cuda_fail() and mock_cuda_calls().
 *
 * DROVER_MOCK_CUDA=no-device in the environment: a driver without a device.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	SUCCESS = 0,
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	NO_DEVICE = 100,
	INVALID_DEVICE = 101,
	INVALID_CONTEXT = 201,
	NOT_FOUND = 500,
	NOT_READY = 600,
	LAUNCH_FAILED = 719,
};

#define EXPORT __attribute__((visibility("default")))

/* ---- failing and counting ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static struct {
	char function[40];
	int after, result;
} planned;

static struct {
	const char *function;
	int nr;
} calls[64];

/* The call of @function behind @after others answers @result. */
EXPORT void mock_cuda_fail(const char *function, int after, int result)
{
	pthread_mutex_lock(&lock);
	strncpy(planned.function, function, sizeof(planned.function) - 1);
	planned.after = after;
	planned.result = result;
	pthread_mutex_unlock(&lock);
}

EXPORT int mock_cuda_calls(const char *function)
{
	int nr = 0;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < 64 && calls[i].function; i++)
		if (!strcmp(calls[i].function, function))
			nr = calls[i].nr;
	pthread_mutex_unlock(&lock);
	return nr;
}

/* Counts the call; what it was told to answer, or 0. */
static int called(const char *function)
{
	int result = SUCCESS, i = 0;

	pthread_mutex_lock(&lock);
	while (calls[i].function && strcmp(calls[i].function, function))
		i++;
	calls[i].function = function;
	calls[i].nr++;
	if (planned.result && !strcmp(planned.function, function) &&
	    planned.after-- == 0) {
		result = planned.result;
		planned.result = 0;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

#define CALLED()                                 \
	do {                                     \
		int planned_ = called(__func__); \
		if (planned_)                    \
			return planned_;         \
	} while (0)

/* ---- contexts ---- */

static int context_object;
static _Thread_local int nr_pushed;

/* All that works on memory or streams wants a current context. */
#define WANT_CONTEXT()                          \
	do {                                    \
		CALLED();                       \
		if (!nr_pushed)                 \
			return INVALID_CONTEXT; \
	} while (0)

EXPORT int cuInit(unsigned int flags)
{
	const char *what = getenv("DROVER_MOCK_CUDA");

	CALLED();
	if (what && !strcmp(what, "no-device"))
		return NO_DEVICE;
	return flags ? INVALID_VALUE : SUCCESS;
}

EXPORT int cuGetErrorName(int error, const char **name)
{
	static const struct {
		int error;
		const char *name;
	} names[] = {
		{ INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE" },
		{ OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY" },
		{ NO_DEVICE, "CUDA_ERROR_NO_DEVICE" },
		{ INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE" },
		{ INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT" },
		{ NOT_FOUND, "CUDA_ERROR_NOT_FOUND" },
		{ LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (names[i].error == error) {
			*name = names[i].name;
			return SUCCESS;
		}
	}
	return INVALID_VALUE;
}

EXPORT int cuDeviceGet(int *device, int ordinal)
{
	CALLED();
	*device = ordinal;
	return ordinal ? INVALID_DEVICE : SUCCESS;
}

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device)
{
	CALLED();
	(void)device;
	*context = &context_object;
	return SUCCESS;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device)
{
	CALLED();
	(void)device;
	return SUCCESS;
}

EXPORT int cuCtxPushCurrent_v2(void *context)
{
	CALLED();
	if (context != &context_object)
		return INVALID_CONTEXT;
	nr_pushed++;
	return SUCCESS;
}

EXPORT int cuCtxPopCurrent_v2(void **context)
{
	CALLED();
	if (!nr_pushed)
		return INVALID_CONTEXT;
	nr_pushed--;
	*context = &context_object;
	return SUCCESS;
}

/* ---- streams: a list of jobs and a thread ---- */

enum kind {
	COPY,
	LAUNCH,
	CALL,
	RECORD,
	WAIT,
	GRAPH
};

struct graph;

struct event {
	uint64_t recorded, done; /* [lock] */
};

struct job {
	struct job *next;
	enum kind kind;
	void *to;
	const void *from;
	size_t bytes;
	void (*kernel)(const void *args);
	unsigned char args[256];
	void (*call)(void *arg);
	void *arg;
	struct event *event;
	uint64_t number;
	struct graph *graph;
};

struct graph {
	struct job *first, **end;
	int refs; /* [lock] */
};

struct stream {
	struct job *first, **end; /* [lock] */
	uint64_t nr_added, nr_done;
	int failed;
	bool stop;
	struct graph *capture;
	pthread_t thread;
};

static void do_jobs(struct job *job, struct stream *s);

static void graph_put(struct graph *graph)
{
	bool last;

	pthread_mutex_lock(&lock);
	last = --graph->refs == 0;
	pthread_mutex_unlock(&lock);
	while (last && graph->first) {
		struct job *job = graph->first;

		graph->first = job->next;
		free(job);
	}
	if (last)
		free(graph);
}

static void do_job(struct job *job, struct stream *s)
{
	switch (job->kind) {
	case COPY:
		memcpy(job->to, job->from, job->bytes);
		return;
	case LAUNCH:
		job->kernel(job->args);
		return;
	case CALL:
		job->call(job->arg);
		return;
	case GRAPH:
		do_jobs(job->graph->first, s);
		graph_put(job->graph);
		return;
	case RECORD:
		pthread_mutex_lock(&lock);
		if (job->event->done < job->number)
			job->event->done = job->number;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		return;
	case WAIT:
		pthread_mutex_lock(&lock);
		while (job->event->done < job->number)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
		return;
	}
}

static void do_jobs(struct job *job, struct stream *s)
{
	for (; job; job = job->next)
		do_job(job, s);
}

static void *stream_main(void *arg)
{
	struct stream *s = arg;

	pthread_mutex_lock(&lock);
	for (;;) {
		struct job *job = s->first;

		if (!job && s->stop)
			break;
		if (!job) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		s->first = job->next;
		if (!s->first)
			s->end = &s->first;
		pthread_mutex_unlock(&lock);
		do_job(job, s);
		free(job);
		pthread_mutex_lock(&lock);
		s->nr_done++;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static int add_job(struct stream *s, struct job job)
{
	struct job *kept = malloc(sizeof(*kept));
	int failed;

	if (!kept)
		return OUT_OF_MEMORY;
	*kept = job;
	kept->next = NULL;
	pthread_mutex_lock(&lock);
	failed = s->failed;
	if (s->capture) {
		*s->capture->end = kept;
		s->capture->end = &kept->next;
	} else if (!failed) {
		if (kept->kind == GRAPH)
			kept->graph->refs++;
		*s->end = kept;
		s->end = &kept->next;
		s->nr_added++;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	if (failed)
		free(kept);
	return failed;
}

EXPORT int cuStreamCreate(struct stream **stream, unsigned int flags)
{
	struct stream *s;

	WANT_CONTEXT();
	if (flags != 1)
		return INVALID_VALUE;
	s = calloc(1, sizeof(*s));
	if (!s)
		return OUT_OF_MEMORY;
	s->end = &s->first;
	if (pthread_create(&s->thread, NULL, stream_main, s)) {
		free(s);
		return OUT_OF_MEMORY;
	}
	*stream = s;
	return SUCCESS;
}

EXPORT int cuStreamDestroy_v2(struct stream *s)
{
	WANT_CONTEXT();
	pthread_mutex_lock(&lock);
	s->stop = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(s->thread, NULL);
	free(s);
	return SUCCESS;
}

/* A planned failure of a wait is one of the device: it stays. */
static int device_failed(struct stream *s, const char *function)
{
	int result = called(function);

	pthread_mutex_lock(&lock);
	if (result)
		s->failed = result;
	result = s->failed;
	pthread_mutex_unlock(&lock);
	return nr_pushed ? result : INVALID_CONTEXT;
}

EXPORT int cuStreamQuery(struct stream *s)
{
	int result = device_failed(s, __func__);

	pthread_mutex_lock(&lock);
	if (!result && s->nr_done < s->nr_added)
		result = NOT_READY;
	pthread_mutex_unlock(&lock);
	return result;
}

EXPORT int cuStreamSynchronize(struct stream *s)
{
	int result = device_failed(s, __func__);
	uint64_t last;

	pthread_mutex_lock(&lock);
	last = s->nr_added;
	while (s->nr_done < last)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return result;
}

/* ---- events ---- */

EXPORT int cuEventCreate(struct event **event, unsigned int flags)
{
	WANT_CONTEXT();
	if (flags != 2)
		return INVALID_VALUE;
	*event = calloc(1, sizeof(**event));
	return *event ? SUCCESS : OUT_OF_MEMORY;
}

EXPORT int cuEventDestroy_v2(struct event *event)
{
	WANT_CONTEXT();
	free(event);
	return SUCCESS;
}

EXPORT int cuEventRecord(struct event *event, struct stream *s)
{
	struct job job = { .kind = RECORD, .event = event };

	WANT_CONTEXT();
	pthread_mutex_lock(&lock);
	job.number = ++event->recorded;
	pthread_mutex_unlock(&lock);
	return add_job(s, job);
}

EXPORT int cuStreamWaitEvent(struct stream *s, struct event *event,
			     unsigned int flags)
{
	struct job job = { .kind = WAIT, .event = event };

	WANT_CONTEXT();
	(void)flags;
	pthread_mutex_lock(&lock);
	job.number = event->recorded;
	pthread_mutex_unlock(&lock);
	return add_job(s, job);
}

EXPORT int cuEventQuery(struct event *event)
{
	int result;

	WANT_CONTEXT();
	pthread_mutex_lock(&lock);
	result = event->done < event->recorded ? NOT_READY : SUCCESS;
	pthread_mutex_unlock(&lock);
	return result;
}

EXPORT int cuEventSynchronize(struct event *event)
{
	uint64_t number;

	WANT_CONTEXT();
	pthread_mutex_lock(&lock);
	number = event->recorded;
	while (event->done < number)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return SUCCESS;
}

/* ---- memory ---- */

EXPORT int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
	WANT_CONTEXT();
	*address = (uintptr_t)malloc(bytes);
	return *address ? SUCCESS : OUT_OF_MEMORY;
}

EXPORT int cuMemFree_v2(uint64_t address)
{
	WANT_CONTEXT();
	free((void *)(uintptr_t)address);
	return SUCCESS;
}

EXPORT int cuMemHostAlloc(void **memory, size_t bytes, unsigned int flags)
{
	WANT_CONTEXT();
	(void)flags;
	*memory = malloc(bytes);
	return *memory ? SUCCESS : OUT_OF_MEMORY;
}

EXPORT int cuMemFreeHost(void *memory)
{
	WANT_CONTEXT();
	free(memory);
	return SUCCESS;
}

EXPORT int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes,
			 struct stream *s)
{
	WANT_CONTEXT();
	return add_job(s, (struct job){ .kind = COPY,
					.to = (void *)(uintptr_t)to,
					.from = (void *)(uintptr_t)from,
					.bytes = bytes });
}

/* ---- kernels ---- */

struct fill {
	unsigned char *to;
	size_t bytes;
	int byte;
};

static void kernel_fill(const void *args)
{
	const struct fill *fill = args;

	memset(fill->to, fill->byte, fill->bytes);
}

struct add {
	unsigned char *to;
	const unsigned char *from;
	size_t bytes;
};

static void kernel_add(const void *args)
{
	const struct add *add = args;

	for (size_t i = 0; i < add->bytes; i++)
		add->to[i] += add->from[i];
}

/* tools/bench/stream-perf.c has it in PTX. */
struct token {
	const uint32_t *inputs;
	uint32_t *state;
	uint64_t nr, stride, work;
};

static void kernel_token(const void *args)
{
	const struct token *token = args;

	for (uint64_t i = 0; i < token->nr; i++)
		*token->state =
			*token->state * 31 + token->inputs[i * token->stride];
}

static void kernel_nothing(const void *args)
{
	(void)args;
}

EXPORT int cuModuleLoadData(void **module, const void *image)
{
	WANT_CONTEXT();
	*module = (void *)image;
	return image ? SUCCESS : INVALID_VALUE;
}

EXPORT int cuModuleUnload(void *module)
{
	WANT_CONTEXT();
	(void)module;
	return SUCCESS;
}

EXPORT int cuModuleGetFunction(void **function, void *module, const char *name)
{
	WANT_CONTEXT();
	(void)module;
	if (!strcmp(name, "fill"))
		*function = (void *)kernel_fill;
	else if (!strcmp(name, "add"))
		*function = (void *)kernel_add;
	else if (!strcmp(name, "token"))
		*function = (void *)kernel_token;
	else if (!strcmp(name, "nothing"))
		*function = (void *)kernel_nothing;
	else
		return NOT_FOUND;
	return SUCCESS;
}

EXPORT int cuLaunchKernel(void *function, unsigned int grid_x,
			  unsigned int grid_y, unsigned int grid_z,
			  unsigned int block_x, unsigned int block_y,
			  unsigned int block_z, unsigned int shared,
			  struct stream *s, void **params, void **extra)
{
	struct job job = { .kind = LAUNCH };

	WANT_CONTEXT();
	(void)shared;
	if (!grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z ||
	    params)
		return INVALID_VALUE;
	memcpy(&job.kernel, &function, sizeof(function));
	if (extra) {
		size_t bytes = *(size_t *)extra[3];

		if (extra[0] != (void *)1 || extra[2] != (void *)2 ||
		    extra[4] || bytes > sizeof(job.args))
			return INVALID_VALUE;
		memcpy(job.args, extra[1], bytes);
	}
	return add_job(s, job);
}

EXPORT int cuLaunchHostFunc(struct stream *s, void (*call)(void *arg),
			    void *arg)
{
	WANT_CONTEXT();
	return add_job(s,
		       (struct job){ .kind = CALL, .call = call, .arg = arg });
}

/* ---- graphs ---- */

EXPORT int cuStreamBeginCapture_v2(struct stream *s, int mode)
{
	struct graph *graph;

	WANT_CONTEXT();
	graph = calloc(1, sizeof(*graph));
	if (!graph || mode != 1)
		return graph ? INVALID_VALUE : OUT_OF_MEMORY;
	graph->end = &graph->first;
	graph->refs = 1;
	pthread_mutex_lock(&lock);
	s->capture = graph;
	pthread_mutex_unlock(&lock);
	return SUCCESS;
}

EXPORT int cuStreamEndCapture(struct stream *s, struct graph **graph)
{
	WANT_CONTEXT();
	pthread_mutex_lock(&lock);
	*graph = s->capture;
	s->capture = NULL;
	pthread_mutex_unlock(&lock);
	return *graph ? SUCCESS : INVALID_VALUE;
}

/* An executable graph shares the jobs of the one it was made of. */
EXPORT int cuGraphInstantiateWithFlags(struct graph **exec, struct graph *graph,
				       unsigned long long flags)
{
	WANT_CONTEXT();
	(void)flags;
	pthread_mutex_lock(&lock);
	graph->refs++;
	pthread_mutex_unlock(&lock);
	*exec = graph;
	return SUCCESS;
}

EXPORT int cuGraphDestroy(struct graph *graph)
{
	CALLED();
	graph_put(graph);
	return SUCCESS;
}

EXPORT int cuGraphExecDestroy(struct graph *exec)
{
	CALLED();
	graph_put(exec);
	return SUCCESS;
}

EXPORT int cuGraphLaunch(struct graph *exec, struct stream *s)
{
	WANT_CONTEXT();
	return add_job(s, (struct job){ .kind = GRAPH, .graph = exec });
}
