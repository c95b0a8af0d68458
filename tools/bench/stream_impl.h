/* SPDX-License-Identifier: MIT */
/*
 * stream-perf has three ways to keep the order of a token's operations:
 *
 *	sync_each	synchronizes after every copy, and waits each time
 *	by_hand		synchronizes only by the read-back; its author has to
 *			know the backend
 *	engine		asks for the same synchronizations as sync_each, but the
 *			library decides which of them wait
 *
 * IMPL_COPY is the kind of copy by which an input is submitted.
 * IMPL_SYNCHRONIZE says whether a synchronization follows the copy. IMPL_ORDER
 * is the order of the stream.
 */
#ifndef BENCH_STREAM_IMPL_H
#define BENCH_STREAM_IMPL_H

#include <drover/cond.h>
#include <drover/stream.h>

#include "bench.h"

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

#if defined(IMPL_engine)
#define IMPL_COPY	 drover_stream_copy_staged
#define IMPL_SYNCHRONIZE true
#define IMPL_ORDER	 DROVER_ORDER_ENGINE

BENCH_IMPL("engine", "staged copies, a synchronization asked for after each",
	   impl_version);

#elif defined(IMPL_by_hand)
#define IMPL_COPY	 drover_stream_copy_borrowed
#define IMPL_SYNCHRONIZE false
#define IMPL_ORDER	 DROVER_ORDER_CALLER

BENCH_IMPL("by_hand", "borrowed copies, no synchronization but the read-back",
	   impl_version);

#elif defined(IMPL_sync_each)
#define IMPL_COPY	 drover_stream_copy_borrowed
#define IMPL_SYNCHRONIZE true
#define IMPL_ORDER	 DROVER_ORDER_CALLER

BENCH_IMPL("sync_each", "borrowed copies, and a wait after each", impl_version);

#else
#error "compile with -DIMPL_<name>, see tools/Makefile"
#endif

/* Submit the copy of one input, and a synchronization if one has to follow. */
static inline int input_copy(drover_stream_t *s, void *to, const void *from,
			     size_t bytes)
{
	int err = IMPL_COPY(s, to, from, bytes, NULL);

	if (err || !IMPL_SYNCHRONIZE)
		return err;
	return drover_stream_synchronize(s);
}

#endif
