/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * blocks.h - kernels, and the debug build's reports, for the tests of streams
 */
#pragma once

#include <dlfcn.h>

#include <drover/stream.h>

#include "blocked.h"

#ifdef DROVER_STREAM_DEBUG
#include "../mock/eager/eager.h"
#endif

static inline void *device_memory(drover_stream_t *stream, size_t bytes)
{
	void *memory;

	MUST(drover_stream_alloc(stream, bytes, &memory));
	return memory;
}

static inline drover_stream_counts_t counts_of(drover_stream_t *stream)
{
	drover_stream_counts_t counts;

	MUST(drover_stream_counts(stream, &counts));
	return counts;
}

/* all_are - have all bytes this value? */
static inline bool all_are(const void *memory, int byte, size_t bytes)
{
	const unsigned char *at = memory;

	for (size_t i = 0; i < bytes; i++)
		if (at[i] != (unsigned char)byte)
			return false;
	return true;
}

/* ---- kernels ---- */

struct fill {
	void *to;
	size_t bytes;
	int byte;
};

static inline int fill_run(const void *args)
{
	const struct fill *fill = args;

	memset(fill->to, fill->byte, fill->bytes);
	return 0;
}

/* Launch a kernel of the mock's on a CUDA stream, as a program would. */
int mock_cuda_launch(const char *kernel, const void *args, size_t bytes,
		     void *stream);

static inline int fill_issue(void *stream, const void *args)
{
	/* Without the padding at the end of the structure. */
	size_t bytes = offsetof(struct fill, byte) + sizeof(int);

	return mock_cuda_launch("fill", args, bytes, stream) ? EIO : 0;
}

static const drover_kernel_t fill_kernel = { .run = fill_run,
					     .issue = fill_issue };

/* fill_submit - a kernel that sets all bytes */
static inline int fill_submit(drover_stream_t *stream, void *to, int byte,
			      size_t bytes, drover_ticket_t *ticket)
{
	const struct fill fill = { to, bytes, byte };
	const drover_access_t access = { to, bytes, DROVER_WRITE };

	return drover_stream_run(stream, &fill_kernel, &fill, sizeof(fill),
				 &access, 1, ticket);
}

struct add {
	unsigned char *to;
	const unsigned char *from;
	size_t bytes;
};

static inline int add_run(const void *args)
{
	const struct add *add = args;

	for (size_t i = 0; i < add->bytes; i++)
		add->to[i] += add->from[i];
	return 0;
}

static inline int add_issue(void *stream, const void *args)
{
	return mock_cuda_launch("add", args, sizeof(struct add), stream) ? EIO :
									   0;
}

#ifdef DROVER_STREAM_DEBUG

/* The reports of the library's debug build: for programs called debug_*. */

static struct {
	pthread_mutex_t lock;
	int nr;
	char last[1000];
} races = { .lock = PTHREAD_MUTEX_INITIALIZER };

static inline void races_take(const char *text, void *arg)
{
	pthread_mutex_lock(&races.lock);
	races.nr++;
	snprintf(races.last, sizeof(races.last), "%s", text);
	pthread_mutex_unlock(&races.lock);
}

static inline void races_watch(void)
{
	MUST(drover_stream_watch_races(races_take, NULL));
}

/* races_found - how many races were reported since the last call */
static inline int races_found(void)
{
	int nr;

	pthread_mutex_lock(&races.lock);
	nr = races.nr;
	races.nr = 0;
	if (nr)
		tap_diag("%s", races.last);
	pthread_mutex_unlock(&races.lock);
	return nr;
}

/* here - an address in the calling function, in front of its next call */
static __attribute__((noinline, unused)) const char *here(void)
{
	__asm__ volatile(""); /* so that the compiler merges no calls */
	return __builtin_return_address(0);
}

/* races_name - does the last report name a call between these addresses? */
static inline bool races_name(const char *from, const char *to)
{
	const char *at = races.last;
	Dl_info info;

	if (!dladdr(from, &info))
		return false;
	while ((at = strstr(at, "+0x"))) {
		const char *place = (const char *)info.dli_fbase +
				    strtoul(at + 3, NULL, 16);

		if (place > from && place <= to)
			return true;
		at++;
	}
	return false;
}

#endif /* DROVER_STREAM_DEBUG */
