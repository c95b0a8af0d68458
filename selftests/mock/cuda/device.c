// SPDX-License-Identifier: GPL-2.0-only
/* Devices, contexts and memory. */
#include <stdlib.h>
#include <string.h>

#include "mock.h"

static int context_object;
_Thread_local int nr_pushed;

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
