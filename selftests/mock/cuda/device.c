// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices, contexts, capture modes and memory. Calls are counted here, and fail
 * if a test wants that.
 */
#include <stdlib.h>
#include <string.h>

#include "mock.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static struct {
	char function[40];
	int result;
} to_fail;

static struct {
	const char *function;
	int nr;
} calls[64];

EXPORT void mock_cuda_fail(const char *function, int result)
{
	pthread_mutex_lock(&lock);
	strncpy(to_fail.function, function, sizeof(to_fail.function) - 1);
	to_fail.result = result;
	pthread_mutex_unlock(&lock);
}

EXPORT int mock_cuda_calls(const char *begin)
{
	int nr = 0;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < 64 && calls[i].function; i++)
		if (!begin)
			calls[i].nr = 0;
		else if (!strncmp(calls[i].function, begin, strlen(begin)))
			nr += calls[i].nr;
	pthread_mutex_unlock(&lock);
	return nr;
}

int enter(const char *function)
{
	int result = SUCCESS, i = 0;

	pthread_mutex_lock(&lock);
	while (calls[i].function && strcmp(calls[i].function, function))
		i++;
	calls[i].function = function;
	calls[i].nr++;
	if (!strcmp(to_fail.function, function)) {
		result = to_fail.result;
		to_fail.result = SUCCESS;
	}
	/* A fault of the device is a fault of all calls and all streams. */
	if (result == LAUNCH_FAILED && current_context())
		poison(current_context(), result);
	return result;
}

void leave(int *planned)
{
	pthread_mutex_unlock(&lock);
}

EXPORT int cuInit(unsigned int flags)
{
	CALLED();
	return flags ? INVALID_VALUE : SUCCESS;
}

EXPORT int cuGetErrorName(int error, const char **name)
{
#define ERROR_NAME(name_, number)             \
	if (error == (number)) {              \
		*name = "CUDA_ERROR_" #name_; \
		return SUCCESS;               \
	}
	ERRORS(ERROR_NAME)
	return INVALID_VALUE;
}

EXPORT int cuDeviceGet(int *device, int ordinal)
{
	CALLED();
	*device = ordinal;
	return ordinal > 1 ? INVALID_DEVICE : SUCCESS;
}

/* ---- memory, which belongs to the context ---- */

struct allocation {
	struct allocation *next;
	unsigned char *start;
	size_t bytes;
	bool registered; /* it is the program's own memory */
};

static struct allocation *allocations;

/* Return: the allocation with this memory; NULL: the memory is pageable. */
static struct allocation *find(const void *start)
{
	struct allocation *a = allocations;

	while (a && ((unsigned char *)start < a->start ||
		     (unsigned char *)start >= a->start + a->bytes))
		a = a->next;
	return a;
}

/* @own: the program's memory, or NULL */
static void *allocate(size_t bytes, void *own)
{
	struct allocation *a = malloc(sizeof(*a));
	void *start = own ? own : malloc(bytes);

	if (!a || !start)
		return NULL;
	*a = (struct allocation){ .next = allocations,
				  .start = start,
				  .bytes = bytes,
				  .registered = own };
	allocations = a;
	return start;
}

static int release(void *start, bool registered)
{
	struct allocation **at = &allocations, *a;

	/* A stream that has failed may still do a job that it had begun. */
	await_touches();
	while ((a = *at) && a->start != start)
		at = &a->next;
	if (!a || a->registered != registered)
		return INVALID_VALUE;
	*at = a->next;
	if (!registered)
		free(a->start);
	free(a);
	return SUCCESS;
}

EXPORT int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
	WANT_SAFE();
	*address = (uintptr_t)allocate(bytes, NULL);
	return *address ? SUCCESS : OUT_OF_MEMORY;
}

EXPORT int cuMemFree_v2(uint64_t address)
{
	WANT_CONTEXT();
	return release((void *)(uintptr_t)address, false);
}

EXPORT int cuMemHostAlloc(void **memory, size_t bytes, unsigned int flags)
{
	WANT_SAFE();
	*memory = allocate(bytes, NULL);
	return *memory ? SUCCESS : OUT_OF_MEMORY;
}

EXPORT int cuMemFreeHost(void *memory)
{
	WANT_CONTEXT();
	return release(memory, false);
}

EXPORT int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned int flags)
{
	WANT_SAFE();
	if (find(memory))
		return INVALID_VALUE;
	return allocate(bytes, memory) ? SUCCESS : OUT_OF_MEMORY;
}

EXPORT int cuMemHostUnregister(void *memory)
{
	WANT_CONTEXT();
	return release(memory, true);
}

bool is_reached(const void *start, size_t bytes)
{
	const struct allocation *a = find(start);

	return a && (unsigned char *)start + bytes <= a->start + a->bytes;
}

static bool pageable_returns_early;

EXPORT void mock_cuda_pageable_early(bool is)
{
	pthread_mutex_lock(&lock);
	pageable_returns_early = is;
	pthread_mutex_unlock(&lock);
}

/* The driver may copy pageable memory itself, while the caller waits. */
static int add_copy(struct stream *s, const struct job *job)
{
	int result = add_job(s, job);

	if (!result && !s->capture && !pageable_returns_early &&
	    (!find(job->to) || !find(job->from)))
		await_jobs(s);
	return result;
}

EXPORT int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes,
			 struct stream *s)
{
	struct job job = { .to = (void *)(uintptr_t)to,
			   .from = (void *)(uintptr_t)from,
			   .bytes = bytes };

	WANT_SOUND();
	return add_copy(s, &job);
}

EXPORT int cuMemsetD8Async(uint64_t to, unsigned char byte, size_t bytes,
			   struct stream *s)
{
	struct job job = { .to = (void *)(uintptr_t)to,
			   .byte = byte,
			   .bytes = bytes };
	const struct allocation *a;

	WANT_SOUND();
	a = find(job.to);
	return a && !a->registered ? add_job(stream_of(s), &job) :
				     INVALID_VALUE;
}

/* ---- contexts: each device has one ---- */

static char contexts[2];
static bool lost[2];
static int faults[2];
static _Thread_local char *pushed[8];
static _Thread_local int nr_pushed;

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device)
{
	CALLED();
	/* After a reset this is another context, with the same name. */
	if (lost[device])
		faults[device] = SUCCESS;
	lost[device] = false;
	*context = &contexts[device];
	return SUCCESS;
}

EXPORT int cuStreamGetCtx(struct stream *s, void **context)
{
	WANT_CONTEXT();
	/* The names 0 to 2 are of default streams. */
	*context = (uintptr_t)s <= 2 ? current_context() : s->context;
	return SUCCESS;
}

EXPORT int cuCtxPushCurrent_v2(void *context)
{
	CALLED();
	if (context != &contexts[0] && context != &contexts[1])
		return INVALID_CONTEXT;
	if (lost[(char *)context - contexts])
		return CONTEXT_IS_DESTROYED;
	pushed[nr_pushed++] = context;
	return SUCCESS;
}

EXPORT int cuCtxPopCurrent_v2(void **context)
{
	WANT_CONTEXT();
	*context = pushed[--nr_pushed];
	return SUCCESS;
}

int fault_of(const char *context)
{
	return faults[context - contexts];
}

void poison(const char *context, int result)
{
	faults[context - contexts] = result;
	fail_streams(context, result);
}

/* Has a context had a fault, so that it cannot be used? */
EXPORT bool mock_cuda_faulted(void)
{
	return faults[0] || faults[1];
}

/* Do what cuDevicePrimaryCtxReset() does, for all devices. */
EXPORT void mock_cuda_reset(void)
{
	pthread_mutex_lock(&lock);
	fail_streams(&contexts[0], CONTEXT_IS_DESTROYED);
	fail_streams(&contexts[1], CONTEXT_IS_DESTROYED);
	while (allocations)
		release(allocations->start, allocations->registered);
	lost[0] = lost[1] = true;
	pthread_mutex_unlock(&lock);
}

char *current_context(void)
{
	return nr_pushed ? pushed[nr_pushed - 1] : NULL;
}

EXPORT int mock_cuda_push(int nr)
{
	for (int i = 0; i < nr; i++)
		pushed[nr_pushed + i] = &contexts[0];
	nr_pushed += nr;
	return nr_pushed;
}

/* ---- captures of other threads ---- */

static _Thread_local int capture_mode; /* 0 global, 1 thread local, 2 relaxed */
static _Atomic bool captured_elsewhere;

EXPORT int cuThreadExchangeStreamCaptureMode(int *mode)
{
	int old = capture_mode;

	CALLED();
	capture_mode = *mode;
	*mode = old;
	return SUCCESS;
}

EXPORT void mock_cuda_capture_elsewhere(bool is)
{
	captured_elsewhere = is;
}

bool is_unsafe(void)
{
	return captured_elsewhere && capture_mode != 2;
}
