/* SPDX-License-Identifier: MIT */
/* Operations, and graphs, which are made of them. */
#ifndef DROVER_STREAM_OP_H
#define DROVER_STREAM_OP_H

#include <drover/stream.h>
#include <stdbool.h>

#include "base/atomic.h"

#define OP_ACCESSES	4  /* more than these go to the heap */
#define OP_ARGS		64 /* bytes; more than these go to the heap */
#define OP_DEPENDENCIES 4  /* more than these the host waits for */

struct backend;
struct drover_graph;

enum op_kind {
	OP_COPY,
	OP_SET,
	OP_RUN,
	OP_HOST_CALL,
	OP_GRAPH,
	OP_WAIT,   /* for an event */
	OP_RECORD, /* in graphs alone */
};

/**
 * struct dependency - an operation begins when another stream has come so far
 * @slot: the other stream
 * @number: its operation
 *
 * Whatever has failed up to there has failed for the one behind it, too.
 */
struct dependency {
	uint32_t slot;
	uint64_t number;
};

/**
 * struct op - an operation
 * @kind: what it is
 * @slot: its stream
 * @queued: takes its turn in the queue; otherwise it starts when submitted
 * @staged: a copy whose host source is to be read at once
 * @ticketed: somebody is going to wait for just this one
 * @blocks: the caller waits for it
 * @waited: the host has waited for the event of OP_WAIT
 * @host: touches host memory
 * @anything: may touch any memory; there are no @accesses then
 * @number: its number, from when it is submitted
 * @mark_first: up to here somebody is going to wait for the device, so it is to be
 *	marked before this one is issued
 * @host_number: the last one up to there that touches host memory
 * @to, @from, @bytes: of a copy; @from may lie in the staging memory
 * @byte: of OP_SET, which has @to and @bytes as well
 * @kernel: of OP_RUN
 * @call, @arg: of OP_HOST_CALL
 * @args_bytes: of OP_RUN; up to OP_ARGS in @args, else in @heap
 * @nr_accesses: up to OP_ACCESSES in @accesses, else in @heap
 * @heap: what of these has no room; of a staged copy in a graph: its source
 * @graph: of OP_GRAPH, which holds a reference
 * @event: of OP_WAIT and OP_RECORD; the caller's
 * @nr_dependencies, @dependencies: to be waited for by the device
 * @staging_end: the staging memory in use ends here, counted for ever; or 0
 * @caller: who submitted it, as an address; for the checker
 * @sum, @summed: of a borrowed source; for the checker
 *
 * Nothing of it changes from when it is posted until it is done.
 */
struct op {
	enum op_kind kind;
	uint32_t slot;
	bool queued;
	bool staged;
	bool ticketed;
	bool blocks;
	bool waited;
	bool host;
	bool anything;
	uint64_t number;
	uint64_t mark_first;
	uint64_t host_number;
	void *to;
	const void *from;
	size_t bytes;
	unsigned char byte;
	drover_kernel_t kernel;
	int (*call)(void *arg);
	void *arg;
	size_t args_bytes;
	_Alignas(16) unsigned char args[OP_ARGS];
	size_t nr_accesses;
	drover_access_t accesses[OP_ACCESSES];
	void *heap;
	struct drover_graph *graph;
	drover_event_t *event;
	uint32_t nr_dependencies;
	struct dependency dependencies[OP_DEPENDENCIES];
	uint64_t staging_end;
	const void *caller;
	uint64_t sum;
	bool summed;
};

/* A captured graph; nodes and accesses do not change once it is made. */
struct drover_graph {
	uint32_t refs; /* [stream_lock] */
	const struct backend *backend;
	uint32_t device;
	struct op *nodes;
	size_t nr_nodes;
	drover_access_t *accesses;
	size_t nr_accesses;
	bool anything;
	bool host;
	bool calls;		/* the host */
	_Atomic uint32_t error; /* of a host call; [the device] */
	void *device_private;
};

#endif /* DROVER_STREAM_OP_H */
