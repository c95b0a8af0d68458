/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * foreign.h - words for scripts about a program that calls the CUDA driver
 * itself and uses streams as well
 */
#pragma once

#include "script.h"

int cuInit(unsigned int flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxPushCurrent_v2(void *context);
int cuCtxPopCurrent_v2(void **context);
int cuStreamCreateWithPriority(void **stream, unsigned int flags, int priority);
int cuStreamDestroy_v2(void *stream);
int cuStreamSynchronize(void *stream);
int cuStreamBeginCapture_v2(void *stream, int mode);
int cuStreamEndCapture(void *stream, void **graph);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuLaunchKernel(void *function, unsigned int grid_x, unsigned int grid_y,
		   unsigned int grid_z, unsigned int block_x,
		   unsigned int block_y, unsigned int block_z,
		   unsigned int shared, void *stream, void **params,
		   void **extra);
int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemFree_v2(uint64_t address);
int cuMemsetD8Async(uint64_t to, unsigned char byte, size_t bytes,
		    void *stream);

static int nr_issued;
static void *native;

static inline void context_enter(void)
{
	void *context;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) ||
	    cuCtxPushCurrent_v2(context))
		tap_bail("the device has no context");
}

static inline void context_leave(void)
{
	void *context;

	cuCtxPopCurrent_v2(&context);
}

/* ---- what another library does with a CUstream ---- */

struct foreign {
	void *to;
	int byte, err;
};

static inline int foreign_issue(void *stream, const void *args)
{
	const struct foreign *f = args;

	nr_issued++;
	if (f->err)
		return f->err;
	return cuMemsetD8Async((uintptr_t)f->to, f->byte, BYTES, stream) ? EIO :
									   0;
}

/* @args: a stream, memory, and the byte to which it is set. */
static inline int foreign(const long *args, int err)
{
	const drover_kernel_t kernel = { .issue = foreign_issue };
	struct foreign f = { TO, args[2], err };
	drover_access_t writes = { f.to, BYTES, DROVER_WRITE };

	return drover_stream_run(STREAM, &kernel, &f, sizeof(f), &writes, 1,
				 NULL);
}

/* raw MEMORY BYTE: a call of the driver with the CUstream from "native" */
STEP(raw)
{
	uintptr_t to = (uintptr_t)script_memory(args[0]);
	int err;

	context_enter();
	err = cuMemsetD8Async(to, args[1], BYTES, native);
	context_leave();
	return err;
}

/* idle: the program calls the driver to wait for this CUstream */
STEP(idle)
{
	int err;

	context_enter();
	err = cuStreamSynchronize(native);
	context_leave();
	return err;
}

/* raw_legacy MEMORY BYTE: the same in the legacy stream */
STEP(raw_legacy)
{
	uintptr_t to = (uintptr_t)script_memory(args[0]);
	int err;

	context_enter();
	err = cuMemsetD8Async(to, args[1], BYTES, NULL);
	context_leave();
	return err;
}

/* lend FLAGS: the next streams are made of a CUstream of the program's */
STEP(lend)
{
	int err;

	context_enter();
	err = cuStreamCreateWithPriority(&script.attr.native, args[0], 0);
	context_leave();
	return err;
}

/* default_stream NR: a stream is made of one of the driver's default streams */
STEP(default_stream)
{
	const drover_streamattr_t named = { .backend = DROVER_BACKEND_CUDA,
					    .native = (void *)args[0] };
	drover_stream_t stream;

	return drover_stream_create(&stream, &named);
}

/* The program captures its own operations in the stream that it has lent. */
STEP(program_captures)
{
	int err;

	context_enter();
	err = cuStreamBeginCapture_v2(script.attr.native, 1);
	context_leave();
	return err;
}

STEP(program_captured)
{
	void *graph;

	context_enter();
	cuStreamEndCapture(script.attr.native, &graph);
	context_leave();
	return 0;
}

STEP(take_back)
{
	context_enter();
	cuStreamDestroy_v2(script.attr.native);
	context_leave();
	return native != script.attr.native;
}

/* arena: a to d become pieces of memory that the program has allocated */
STEP(arena)
{
	uint64_t address;
	int err;

	context_enter();
	err = cuMemAlloc_v2(&address, 4 * BYTES);
	context_leave();
	for (int i = 0; i < 4; i++)
		script.memory['a' + i] =
			(unsigned char *)(uintptr_t)address + i * BYTES;
	return err;
}

STEP(arena_goes)
{
	uint64_t address = (uintptr_t)script.memory['a'];
	int err;

	for (int i = 0; i < 4; i++)
		script.memory['a' + i] = NULL;
	context_enter();
	err = cuMemFree_v2(address);
	context_leave();
	return err;
}

STEP_IS(declare_arena,
	drover_stream_declare(STREAM, script.memory['a'], 4 * BYTES));
STEP_IS(unpin, drover_stream_free(STREAM, TO));
STEP_IS(foreign, foreign(args, 0));
STEP_IS(foreign_fails, foreign(args, ENOSPC));
STEP_IS(issued, nr_issued);
STEP_IS(native, drover_stream_native(STREAM, &native));
STEP_IS(depth, (script.attr.depth = args[0]) == 0);
