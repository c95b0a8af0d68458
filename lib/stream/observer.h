/* SPDX-License-Identifier: MIT */
/*
 * observer.h - the one hook through which the debug build's checker sees the
 * actions of streams and of the host; other builds have no hook and no checker
 */
#ifndef DROVER_STREAM_OBSERVER_H
#define DROVER_STREAM_OBSERVER_H

#include "stream/op.h"

struct stream;

struct observer {
	void (*stream_begins)(const struct stream *s);
	void (*stream_ends)(const struct stream *s); /* all its work is done */
	void (*submitted)(const struct stream *s, const struct op *op);
	/* All operations up to @number are done, and the host knows. */
	void (*host_knows)(const struct stream *s, uint64_t number);
	void (*host_touches)(struct footprint f, const void *caller);
	void (*child_begins)(void); /* of a fork */
	void (*report_to)(void (*report)(const char *text, void *arg),
			  void *arg);
};

#ifdef DROVER_STREAM_DEBUG
#define HAS_OBSERVER true
#else
#define HAS_OBSERVER false
#endif

extern const struct observer stream_observer; /* in check.c */

#define OBSERVE(function, ...)                                 \
	do {                                                   \
		if (HAS_OBSERVER)                              \
			stream_observer.function(__VA_ARGS__); \
	} while (false)

#endif /* DROVER_STREAM_OBSERVER_H */
