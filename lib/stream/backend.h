/* SPDX-License-Identifier: MIT */
/* backend.h - what the floors above a backend may ask of it */
#ifndef DROVER_STREAM_BACKEND_H
#define DROVER_STREAM_BACKEND_H

#include <drover/stream.h>
#include <stdbool.h>

struct deadline;
struct op;
struct stream;

/* The program's own are given back to it, and are never the backend's to free. */
enum memory {
	MEMORY_DEVICE,
	MEMORY_DECLARED, /* the same, but the program's own */
	MEMORY_HOST,	 /* host memory that the device reaches */
	MEMORY_PINNED,	 /* the same, but the program's own */
};

/*
 * A backend carries operations out. The engine relies on the order that the
 * first members declare, and on nothing else.
 */
struct backend {
	const char *name; /* for people */
	enum drover_backend id;
	/*
	 * Backends with equal values reach the same device memory, and their
	 * queues can wait for each other.
	 */
	bool cuda;
	bool copies_queued; /* otherwise they start when submitted */
	/* An error comes with a sentence: stream_because(). */
	int (*open)(struct stream *s, const drover_streamattr_t *attr);
	void (*close)(struct stream *s); /* nothing is under way */
	/*
	 * Begin to carry @op out, when all operations in front of it have been
	 * begun; called without the lock. It raises posted, and the stream may be
	 * gone after that.
	 */
	int (*issue)(struct stream *s, struct op *op);
	/* Carry @op out, which is next in the queue (queue_open()); raises done. */
	void (*turn)(struct stream *s, struct op *op);
	/*
	 * Wait until done >= @number or the deadline: 0 or ETIMEDOUT. NULL: the
	 * threads that carry operations out raise done, so number_wait() will do.
	 */
	int (*wait)(struct stream *s, uint64_t number,
		    const struct deadline *deadline);
	/* Bring done up to date; [stream_lock]. NULL: it always is up to date. */
	void (*poll)(struct stream *s);
	/* *@memory is set; of MEMORY_PINNED it is the program's, and stays. */
	int (*alloc)(struct stream *s, size_t bytes, enum memory kind,
		     void **memory);
	void (*free)(struct stream *s, void *memory, enum memory kind);
	/* NULL: a graph needs no preparation. graph_drop() has stream_lock. */
	int (*graph_make)(struct stream *s, struct drover_graph *graph);
	void (*graph_drop)(struct drover_graph *graph);
};

#endif /* DROVER_STREAM_BACKEND_H */
