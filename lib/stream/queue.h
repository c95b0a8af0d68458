/* SPDX-License-Identifier: MIT */
/* queue.h - queues that the workers of a pool work off: the CPU backend */
#ifndef DROVER_STREAM_QUEUE_H
#define DROVER_STREAM_QUEUE_H

#include "stream/slot.h"

extern const struct backend stream_cpu;

/* See struct backend. Other backends with a queue use these, too. */
int queue_open(struct stream *s, const drover_streamattr_t *attr);
void queue_close(struct stream *s);
int queue_issue(struct stream *s, struct op *op);
void queue_after_fork(void);
/* Wait for the dependencies of @op, then carry it out. */
void op_perform(struct stream *s, struct op *op);
/* The CPU's device memory is ordinary memory. */
int memory_alloc(struct stream *s, size_t bytes, enum memory kind,
		 void **memory);
void memory_free(struct stream *s, void *memory, enum memory kind);

#endif /* DROVER_STREAM_QUEUE_H */
