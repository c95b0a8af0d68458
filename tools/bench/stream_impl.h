/* SPDX-License-Identifier: MIT */
/*
 * The three ways of stream-perf to keep the order of a token's operations:
 *
 *	sync_each	a synchronization after every copy, and each one waits
 *	by_hand		none but the read-back: whoever wrote it knows the backend
 *	engine		as sync_each asks for them, but the library decides
 *
 * input_copy() submits the copy of one input and what has to follow it.
 */
#ifndef BENCH_STREAM_IMPL_H
#define BENCH_STREAM_IMPL_H

#include <drover/cond.h>
#include <drover/stream.h>

#include "bench.h"

#if defined(IMPL_engine)
#define IMPL_NAME  "engine"
#define IMPL_HELP  "staged copies, a synchronization asked for after each"
#define IMPL_ORDER DROVER_ORDER_ENGINE

static inline int input_copy(drover_stream_t *s, void *to, const void *from,
			     size_t bytes)
{
	int err = drover_stream_copy_staged(s, to, from, bytes, NULL);

	return err ? err : drover_stream_synchronize(s);
}

#elif defined(IMPL_by_hand)
#define IMPL_NAME  "by_hand"
#define IMPL_HELP  "borrowed copies, no synchronization but the read-back"
#define IMPL_ORDER DROVER_ORDER_CALLER

static inline int input_copy(drover_stream_t *s, void *to, const void *from,
			     size_t bytes)
{
	return drover_stream_copy_borrowed(s, to, from, bytes, NULL);
}

#elif defined(IMPL_sync_each)
#define IMPL_NAME  "sync_each"
#define IMPL_HELP  "borrowed copies, and a wait after each"
#define IMPL_ORDER DROVER_ORDER_CALLER

static inline int input_copy(drover_stream_t *s, void *to, const void *from,
			     size_t bytes)
{
	int err = drover_stream_copy_borrowed(s, to, from, bytes, NULL);

	return err ? err : drover_stream_synchronize(s);
}

#else
#error "compile with -DIMPL_<name>, see tools/Makefile"
#endif

static const char *impl_library(void)
{
	return bench_file_of((void (*)(void))drover_stream_create);
}

static const char *impl_version(void)
{
	static char text[64];

	snprintf(text, sizeof(text), "drover %s", drover_version());
	return text;
}

static const struct bench_impl impl = {
	.name = IMPL_NAME,
	.help = IMPL_HELP,
	.library = impl_library,
	.version = impl_version,
};

#endif
