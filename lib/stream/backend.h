/* SPDX-License-Identifier: MIT */
/* backend.h - the functions of a backend, for the layers above it */
#ifndef DROVER_STREAM_BACKEND_H
#define DROVER_STREAM_BACKEND_H

#include <drover/stream.h>
#include <stdbool.h>

struct deadline;
struct op;
struct stream;

/* Memory of the program's own is given back to it; no backend frees it. */
enum memory {
	MEMORY_DEVICE,
	MEMORY_DECLARED, /* device memory of the program's own */
	MEMORY_HOST,	 /* host memory that the device reaches */
	MEMORY_PINNED,	 /* such host memory, of the program's own */
};

/*
 * A backend carries out operations. Its first members declare which order it
 * keeps. The engine relies on that order, and on nothing else.
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
	/* An error comes with a sentence, by stream_because(). */
	int (*open)(struct stream *s, const drover_streamattr_t *attr);
	void (*close)(struct stream *s); /* nothing is under way */
	/*
	 * Begin to carry out @op. All operations in front of it have been
	 * begun. Called without the lock. It raises posted; after that the
	 * stream may be gone.
	 */
	int (*issue)(struct stream *s, struct op *op);
	/*
	 * Carry out @op in its turn in the queue (queue_open()); raises done.
	 */
	void (*turn)(struct stream *s, struct op *op);
	/*
	 * Wait until done >= @number or the deadline: 0 or ETIMEDOUT. NULL: the
	 * threads that carry out operations raise done, so number_wait()
	 * suffices.
	 */
	int (*wait)(struct stream *s, uint64_t number,
		    const struct deadline *deadline);
	/*
	 * Bring done up to date; [stream_lock]. NULL: it always is up to date.
	 */
	void (*poll)(struct stream *s);
	/*
	 * Set *@memory. With MEMORY_PINNED it is set already, to memory of the
	 * program's, and does not change.
	 */
	int (*alloc)(struct stream *s, size_t bytes, enum memory kind,
		     void **memory);
	void (*free)(struct stream *s, void *memory, enum memory kind);
	/* NULL: a graph needs no preparation. graph_drop() has stream_lock. */
	int (*graph_make)(struct stream *s, struct drover_graph *graph);
	void (*graph_drop)(struct drover_graph *graph);
};

#endif /* DROVER_STREAM_BACKEND_H */
