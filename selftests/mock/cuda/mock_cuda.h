/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mock_cuda_h - the CUDA backend without a GPU
 *
 *	mock_cuda_start();		// before the first CUDA stream
 *	mock_cuda_fail("cuMemcpyAsync", 2, 719);
 */
#ifndef DROVER_SELFTESTS_MOCK_CUDA_H
#define DROVER_SELFTESTS_MOCK_CUDA_H

#include <limits.h>

#include "blocks.h"

/* The call of @function behind @after others answers @result. */
void mock_cuda_fail(const char *function, int after, int result);
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
int cuMemsetD8Async(uint64_t to, unsigned char byte, size_t bytes,
		    void *stream);

static drover_kernel_t mock_cuda_fill, mock_cuda_add;

/* mock_cuda_path - where the mock lies, seen from this program */
static inline const char *mock_cuda_path(void)
{
	static char path[PATH_MAX + 40];
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX);

	if (len < 0)
		tap_bail("readlink");
	path[len] = '\0';
	strcpy(strrchr(path, '/'), "/../../lib/libcuda-mock.so");
	return path;
}

static inline void mock_cuda_start(void)
{
	setenv("DROVER_CUDA_LIBRARY", mock_cuda_path(), 1);
}

/* mock_cuda_kernels - load them; any stream may run them afterwards */
static inline void mock_cuda_kernels(drover_stream_t *stream)
{
	MUST(drover_stream_load(stream, "", "fill", &mock_cuda_fill));
	MUST(drover_stream_load(stream, "", "add", &mock_cuda_add));
}

static inline int cuda_fill_submit(drover_stream_t *stream, void *to, int byte,
				   size_t bytes, drover_ticket_t *ticket)
{
	const struct fill fill = { to, bytes, byte };
	const drover_access_t access = { to, bytes, DROVER_WRITE };

	return drover_stream_run(stream, &mock_cuda_fill, &fill, sizeof(fill),
				 &access, 1, ticket);
}

static inline int cuda_add_submit(drover_stream_t *stream, void *to,
				  const void *from, size_t bytes,
				  drover_ticket_t *ticket)
{
	const struct add add = { to, from, bytes };
	const drover_access_t accesses[] = {
		{ to, bytes, DROVER_READ | DROVER_WRITE },
		{ from, bytes, DROVER_READ },
	};

	return drover_stream_run(stream, &mock_cuda_add, &add, sizeof(add),
				 accesses, 2, ticket);
}

static inline int gate_call(void *arg)
{
	struct gate *gate = arg;

	return gate_run(&gate);
}

/* cuda_gate_block - a host call that ends when the gate is opened */
static inline void cuda_gate_block(struct gate *gate, drover_stream_t *stream)
{
	drover_access_t nothing = { 0 };

	MUST(drover_stream_host_call(stream, gate_call, gate, &nothing, 0,
				     NULL));
}

#endif /* DROVER_SELFTESTS_MOCK_CUDA_H */
