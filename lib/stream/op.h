/* SPDX-License-Identifier: MIT */
/* op.h - operations, graphs made of operations, and the memory they touch */
#ifndef DROVER_STREAM_OP_H
#define DROVER_STREAM_OP_H

#include <drover/stream.h>
#include <stdbool.h>

#include "base/atomic.h"

#define OP_ACCESSES	4  /* more than these go to the heap */
#define OP_ARGS		64 /* bytes; more than these go to the heap */
#define OP_DEPENDENCIES 4  /* the host waits for more than these */

struct backend;
struct drover_graph;

enum op_kind {
	OP_COPY,
	OP_SET,
	OP_RUN,
	OP_HOST_CALL,
	OP_GRAPH,
	OP_WAIT, /* for an event */
};

/*
 * An operation with this dependency begins when another stream has come as far
 * as @number. If an operation up to there has failed, so has the one that
 * depends on it.
 */
struct dependency {
	uint32_t slot;
	uint64_t number;
};

/* An operation. It does not change between its post and its end. */
struct op {
	enum op_kind kind;
	uint32_t slot; /* its stream */
	bool queued;   /* takes its turn; otherwise it starts when submitted */
	bool staged;   /* a copy whose host source is to be read at once */
	bool ticketed; /* a thread is going to wait for this very one */
	bool blocks;   /* the caller waits for it */
	bool waited;   /* the host has waited for the event of OP_WAIT */
	bool host;     /* touches host memory */
	bool anything; /* may touch any memory; there are no accesses then */
	uint64_t number; /* 0 until it is submitted */
	/*
	 * The device or a thread waits for the operation of this number: a mark
	 * is made behind it before this operation is issued.
	 */
	uint64_t mark_first;
	/* The last operation up to this one that touches host memory. */
	uint64_t host_number;
	/* OP_COPY, OP_SET; @from may lie in the staging memory */
	void *to;
	const void *from;
	size_t bytes;
	unsigned char byte;
	drover_kernel_t kernel; /* OP_RUN */
	int (*call)(void *arg); /* OP_HOST_CALL */
	void *arg;
	/* OP_RUN */
	size_t args_bytes;
	_Alignas(16) unsigned char args[OP_ARGS];
	size_t nr_accesses;
	drover_access_t accesses[OP_ACCESSES];
	void *heap;   /* arguments and accesses, if they do not fit here */
	void *source; /* of a staged copy in a graph */
	struct drover_graph *graph;  /* OP_GRAPH: a reference */
	const drover_event_t *event; /* OP_WAIT; the caller's */
	/* The device waits for these. */
	uint32_t nr_dependencies;
	struct dependency dependencies[OP_DEPENDENCIES];
	/* The end of its staging memory, counted for ever; 0: it has none. */
	uint64_t staging_end;
	const void *caller; /* the return address of the submit; for check.c */
};

/* A captured graph. Its nodes and accesses do not change once it is made. */
struct drover_graph {
	uint32_t refs; /* [stream_lock] */
	const struct backend *backend;
	uint32_t device;
	struct op *nodes;
	size_t nr_nodes;
	drover_access_t *accesses;
	size_t nr_accesses;
	bool anything;
	void *device_private;
};

static inline void *op_args(struct op *op)
{
	return op->heap ? op->heap : op->args;
}

/* Copy accesses and arguments into @op: 0 or ENOMEM. */
int op_fill(struct op *op, const drover_access_t *accesses, size_t nr,
	    const void *args, size_t bytes);
/* Free what @op has on the heap; [stream_lock] if it is a replay. */
void op_free(struct op *op);
/* Let go of a graph; [stream_lock] */
void graph_put(struct drover_graph *graph);

/* The memory that one operation, or the host at one time, touches. */
struct footprint {
	const drover_access_t *accesses;
	size_t nr;
	bool anything;
};

struct footprint op_footprint(const struct op *op);
/* Do both touch the same memory, and one of them writes? */
bool access_conflict(const drover_access_t *a, const drover_access_t *b);
bool footprint_conflict(const struct footprint *a, const struct footprint *b);

#endif /* DROVER_STREAM_OP_H */
