// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define CACHE_LINE 64

void *bench_alloc(size_t count, size_t size)
{
	size_t bytes;
	void *memory = NULL;

	if (!__builtin_mul_overflow(count, size, &bytes) &&
	    bytes <= SIZE_MAX - CACHE_LINE) {
		bytes = (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
		memory = aligned_alloc(CACHE_LINE, bytes);
	}
	if (!memory) {
		bench_error(
			"out of memory: %zu x %zu bytes refused; ask for less, or raise the address space limit (ulimit -v)",
			count, size);
		return NULL;
	}
	return memset(memory, 0, bytes);
}

static int start(struct bench_threads *threads, size_t wanted, uint64_t stack,
		 void *(*main)(void *), char *arg, size_t stride)
{
	pthread_attr_t attr;
	int error;

	pthread_attr_init(&attr);
	error = pthread_attr_setstacksize(&attr, stack);
	while (!error && threads->started < wanted) {
		error = pthread_create(&threads->ids[threads->started], &attr,
				       main, arg + threads->started * stride);
		if (!error)
			threads->started++;
	}
	pthread_attr_destroy(&attr);
	return error;
}

bool bench_threads_start(struct bench_threads *threads, size_t wanted,
			 uint64_t stack, void *(*main)(void *), void *arg,
			 size_t stride)
{
	int error;

	threads->started = 0;
	threads->ids = bench_alloc(wanted, sizeof(*threads->ids));
	if (!threads->ids)
		return false;
	error = start(threads, wanted, stack, main, arg, stride);
	if (error)
		bench_explain_no_thread(threads->started, wanted, stack, error);
	return !error;
}

void bench_threads_join(struct bench_threads *threads)
{
	for (size_t i = 0; i < threads->started; i++)
		bench_expect_0("pthread_join",
			       pthread_join(threads->ids[i], NULL));
	free(threads->ids);
	*threads = (struct bench_threads){ 0 };
}
