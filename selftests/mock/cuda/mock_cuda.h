/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mock_cuda_h - the CUDA backend without a GPU
 *
 *	mock_cuda_start();		// before the first CUDA stream
 *	mock_cuda_fail("cuMemcpyAsync", 719);
 */
#pragma once

#include "blocks.h"

/* The next call of @function answers @result. */
void mock_cuda_fail(const char *function, int result);
/* How often was it called? NULL: count anew. */
int mock_cuda_calls(const char *function);
/* The caller's own contexts, and how many are current. */
int mock_cuda_push(int nr);
/* Of the stream that was made last. */
int mock_cuda_priority(void);
/* Some thread of the program's captures, and wants no calls. */
void mock_cuda_capture_elsewhere(bool is);

/* As a program calls them that uses the driver, too. */
int cuStreamCreateWithPriority(void **stream, unsigned int flags, int priority);
int cuStreamDestroy_v2(void *stream);
int cuLaunchHostFunc(void *stream, void (*call)(void *arg), void *arg);
int cuMemsetD8Async(uint64_t to, unsigned char byte, size_t bytes,
		    void *stream);

static inline void mock_gate_call(void *gate)
{
	gate_run(&gate);
}

static inline int mock_gate_issue(void *native, const void *args)
{
	return cuLaunchHostFunc(native, mock_gate_call, *(void *const *)args);
}

/* It is loaded already: the program is linked to it, by this name. */
static inline void mock_cuda_start(void)
{
	gate_kernel.issue = mock_gate_issue;
	setenv("DROVER_CUDA_LIBRARY", "libcuda-mock.so", 1);
}

/* mock_cuda_kernels - load them; any stream may run them afterwards */
static inline void mock_cuda_kernels(drover_stream_t *stream)
{
	MUST(drover_stream_load(stream, "", "fill", &fill_kernel));
	MUST(drover_stream_load(stream, "", "add", &add_kernel));
}
