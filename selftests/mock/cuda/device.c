// SPDX-License-Identifier: GPL-2.0-only
/* Devices, contexts, capture modes and memory. */
#include <stdlib.h>
#include <string.h>

#include "mock.h"

static int context_object;
_Thread_local int nr_pushed;

/* Of all contexts: [lock]. */
static int nr_retained;
int context_life;

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
		{ CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED" },
		{ LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED" },
		{ CAPTURE_UNSUPPORTED,
		  "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED" },
		{ CAPTURE_INVALIDATED,
		  "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED" },
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

/* ---- memory, which the context has ---- */

struct allocation {
	struct allocation *next;
	unsigned char *start;
	size_t bytes;
	bool pinned;
	int life; /* of the context */
};

static struct allocation *allocations; /* [lock] */

/* The allocation that has this memory, or NULL; [lock]. */
static struct allocation *find(const void *start)
{
	struct allocation *a = allocations;

	while (a && ((unsigned char *)start < a->start ||
		     (unsigned char *)start >= a->start + a->bytes))
		a = a->next;
	return a;
}

static void *allocate(size_t bytes, bool pinned)
{
	struct allocation *a = malloc(sizeof(*a));
	void *start = malloc(bytes);

	if (!a || !start)
		return NULL;
	pthread_mutex_lock(&lock);
	*a = (struct allocation){ .next = allocations,
				  .start = start,
				  .bytes = bytes,
				  .pinned = pinned,
				  .life = context_life };
	allocations = a;
	pthread_mutex_unlock(&lock);
	return start;
}

static int release(void *start)
{
	struct allocation **at = &allocations, *a;

	pthread_mutex_lock(&lock);
	while ((a = *at) && a->start != start)
		at = &a->next;
	if (a)
		*at = a->next;
	pthread_mutex_unlock(&lock);
	if (!a)
		return INVALID_VALUE;
	free(a->start);
	free(a);
	return SUCCESS;
}

/* What the driver copies by itself, while the caller waits. */
static bool is_pageable(const void *start)
{
	bool is;

	pthread_mutex_lock(&lock);
	is = !find(start);
	pthread_mutex_unlock(&lock);
	return is;
}

EXPORT int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
	WANT_CONTEXT();
	UNSAFE();
	*address = (uintptr_t)allocate(bytes, false);
	return *address ? SUCCESS : OUT_OF_MEMORY;
}

EXPORT int cuMemFree_v2(uint64_t address)
{
	WANT_CONTEXT();
	return release((void *)(uintptr_t)address);
}

EXPORT int cuMemHostAlloc(void **memory, size_t bytes, unsigned int flags)
{
	WANT_CONTEXT();
	UNSAFE();
	(void)flags;
	*memory = allocate(bytes, true);
	return *memory ? SUCCESS : OUT_OF_MEMORY;
}

EXPORT int cuMemFreeHost(void *memory)
{
	WANT_CONTEXT();
	return release(memory);
}

EXPORT int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes,
			 struct stream *s)
{
	struct job job = { .kind = COPY,
			   .to = (void *)(uintptr_t)to,
			   .from = (void *)(uintptr_t)from,
			   .bytes = bytes };
	int result;

	WANT_CONTEXT();
	result = add_job(s, job);
	if (!result && !s->capture &&
	    (is_pageable(job.to) || is_pageable(job.from)))
		result = await_jobs(s);
	return result;
}

EXPORT int cuMemsetD8Async(uint64_t to, unsigned char byte, size_t bytes,
			   struct stream *s)
{
	struct job job = { .kind = SET,
			   .to = (void *)(uintptr_t)to,
			   .number = byte,
			   .bytes = bytes };

	WANT_CONTEXT();
	return is_pageable(job.to) ? INVALID_VALUE : add_job(s, job);
}

/* ---- the primary context ---- */

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device)
{
	CALLED();
	(void)device;
	pthread_mutex_lock(&lock);
	nr_retained++;
	pthread_mutex_unlock(&lock);
	*context = &context_object;
	return SUCCESS;
}

/* With the last one all goes that the context has. */
EXPORT int cuDevicePrimaryCtxRelease_v2(int device)
{
	CALLED();
	(void)device;
	pthread_mutex_lock(&lock);
	if (!--nr_retained) {
		context_life++;
		for (struct allocation *a = allocations; a; a = a->next)
			memset(a->start, 0xdd, a->bytes);
	}
	pthread_mutex_unlock(&lock);
	return SUCCESS;
}

EXPORT int cuStreamGetCtx(struct stream *s, void **context)
{
	WANT_CONTEXT();
	(void)s;
	*context = &context_object;
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

/* For tests: the caller's own contexts, and how many are current. */
EXPORT int mock_cuda_push(int nr)
{
	nr_pushed += nr;
	return nr_pushed;
}

/* ---- captures of others ---- */

static _Thread_local int capture_mode; /* 0 global, 1 thread local, 2 relaxed */
static bool captured_elsewhere;

EXPORT int cuThreadExchangeStreamCaptureMode(int *mode)
{
	int old = capture_mode;

	CALLED();
	capture_mode = *mode;
	*mode = old;
	return SUCCESS;
}

/* For tests: some thread of the program's captures, and wants no calls. */
EXPORT void mock_cuda_capture_elsewhere(bool is)
{
	pthread_mutex_lock(&lock);
	captured_elsewhere = is;
	pthread_mutex_unlock(&lock);
}

bool is_unsafe(void)
{
	bool is;

	pthread_mutex_lock(&lock);
	is = captured_elsewhere && capture_mode != 2;
	pthread_mutex_unlock(&lock);
	return is;
}
