/* SPDX-License-Identifier: MIT */
/* memory.h - device memory, pinned memory, and memory for staged copies */
#ifndef DROVER_STREAM_MEMORY_H
#define DROVER_STREAM_MEMORY_H

#include "stream/slot.h"

/* Memory that a backend has given or pinned, or was told of. No two overlap. */
struct range {
	uintptr_t start;
	size_t bytes;
	const struct backend *backend;
	uint32_t device; /* its number in the backend */
	enum memory kind;
};

/* Return: the range that has a part of this memory, or NULL; [stream_lock] */
struct range *memory_range(const void *start, size_t bytes);
/* Return: 0; EINVAL: a range has a part of it already; ENOMEM; [stream_lock] */
int memory_add(const struct stream *s, void *memory, size_t bytes,
	       enum memory kind);
void memory_remove(struct range *range);
/*
 * Set @op->host if it touches host memory. Return: 0; EXDEV: @s cannot reach
 * the memory.
 */
int memory_classify(const struct stream *s, struct op *op);
bool memory_is_device(const void *start, size_t bytes);
void memory_after_fork(void);

/* Set @op->from to memory for its source. Return: 0; EAGAIN: no room yet. */
int staging_take(struct stream *s, struct op *op, struct need *need);

#endif /* DROVER_STREAM_MEMORY_H */
