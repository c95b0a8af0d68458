/* SPDX-License-Identifier: MIT */
/* memory.h - device memory, pinned memory, and memory for staged copies */
#ifndef DROVER_STREAM_MEMORY_H
#define DROVER_STREAM_MEMORY_H

#include "stream/slot.h"

/* Memory that a backend has given or pinned, or was told of; no two overlap. */
struct range {
	uintptr_t start;
	size_t bytes;
	const struct backend *backend;
	uint32_t device; /* its number, of the backend's */
	enum memory kind;
};

/* The range that has a part of this memory, or NULL; [stream_lock] */
struct range *memory_range(const void *start, size_t bytes);
/* 0; EINVAL: a part of it is in a range already; ENOMEM; [stream_lock] */
int memory_add(const struct stream *s, void *memory, size_t bytes,
	       enum memory kind);
void memory_remove(struct range *range);
/* Set @op->host if it touches host memory; EXDEV: out of reach of @s. */
int memory_classify(const struct stream *s, struct op *op);
bool memory_is_device(const void *start, size_t bytes);
void memory_after_fork(void);

/* Set @op->from to memory for its source; EAGAIN: no room yet. */
int staging_take(struct stream *s, struct op *op, struct need *need);

#endif /* DROVER_STREAM_MEMORY_H */
