// SPDX-License-Identifier: MIT
/*
 * The ranges of device memory and of pinned memory, also of the program's own;
 * and the host memory for staged copies.
 *
 * Memory that is not listed here counts as host memory. If it is the device's,
 * that costs needless synchronizations, and does no harm.
 */
#include "stream/memory.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* A search tree; [stream_lock] */
static void *ranges;

/* Ranges that overlap compare as equal. */
static int compare(const void *one, const void *two)
{
	const struct range *a = one, *b = two;

	if (a->start >= b->start + b->bytes)
		return 1;
	return b->start >= a->start + a->bytes ? -1 : 0;
}

struct range *memory_range(const void *start, size_t bytes)
{
	const struct range part = { .start = (uintptr_t)start, .bytes = bytes };
	struct range **found = tfind(&part, &ranges, compare);

	return found ? *found : NULL;
}

static bool is_device(const struct range *range)
{
	return range->kind == MEMORY_DEVICE || range->kind == MEMORY_DECLARED;
}

static bool lies_in(const struct range *range, const void *start, size_t bytes)
{
	uintptr_t address = (uintptr_t)start;

	return address >= range->start &&
	       bytes <= range->bytes - (address - range->start);
}

int memory_add(const struct stream *s, void *memory, size_t bytes,
	       enum memory kind)
{
	struct range *range = malloc(sizeof(*range)), **found = NULL;

	if (range) {
		*range = (struct range){ .start = (uintptr_t)memory,
					 .bytes = bytes,
					 .backend = s->backend,
					 .device = s->device,
					 .kind = kind };
		found = tsearch(range, &ranges, compare);
	}
	if (found && *found == range)
		return 0;
	free(range);
	return found ? stream_because(EINVAL, "%p is known already", memory) :
		       stream_because(ENOMEM, "no memory");
}

void memory_remove(struct range *range)
{
	tdelete(range, &ranges, compare);
	free(range);
}

/* The child may have memory of its own at the same addresses as the parent. */
void memory_after_fork(void)
{
	ranges = NULL;
}

bool memory_is_device(const void *start, size_t bytes)
{
	struct range *range = memory_range(start, bytes);

	return range && is_device(range) && lies_in(range, start, bytes);
}

/* May @op of @s touch this device memory? Return: 0 or EXDEV. */
static int check_reach(const struct stream *s, const struct op *op,
		       const struct range *range)
{
	/* Memory of the CPU backend is host memory to every other device. */
	if (range->backend->cuda && !s->backend->cuda)
		return stream_because(
			EXDEV,
			"the %s backend cannot reach memory of the %s one",
			s->backend->name, range->backend->name);
	/* The driver copies between devices, and kernels may do so, too. */
	if (range->backend->cuda && range->device != s->device &&
	    op->kind == OP_SET)
		return stream_because(EXDEV,
				      "memory of device %u, used on device %u",
				      range->device, s->device);
	return 0;
}

int memory_classify(const struct stream *s, struct op *op)
{
	struct footprint f = op_footprint(op);

	op->host = op->anything || op->kind == OP_HOST_CALL;
	for (size_t i = 0; i < f.nr; i++) {
		const drover_access_t *a = &f.accesses[i];
		struct range *range = memory_range(a->start, a->bytes);
		int err;

		if ((!range || range->kind == MEMORY_PINNED) &&
		    op->kind == OP_SET && s->backend->cuda)
			return stream_because(EXDEV, "%p: CUDA cannot set it",
					      a->start);
		if (range && !is_device(range))
			range = NULL;
		err = range ? check_reach(s, op, range) : 0;
		if (err)
			return err;
		if (!range || !lies_in(range, a->start, a->bytes))
			op->host = true;
	}
	return 0;
}

/* ---- staging: a ring that is given back in the order of the operations ---- */

/* Return: room for @bytes in one piece; NULL: more must be given back first. */
static void *staging_room(struct stream *s, size_t bytes)
{
	size_t at = s->staging_head % s->staging_bytes, skip;

	/*
	 * If none is in use, the ring begins again at its start. So a loop that
	 * waits for each of its steps uses memory that stays in the cache.
	 */
	if (s->staging_head == s->staging_tail && at) {
		s->staging_head += s->staging_bytes - at;
		s->staging_tail = s->staging_head;
		at = 0;
	}
	skip = at + bytes > s->staging_bytes ? s->staging_bytes - at : 0;
	if (s->staging_head + skip + bytes - s->staging_tail > s->staging_bytes)
		return NULL;
	at = (at + skip) % s->staging_bytes;
	s->staging_head += skip + bytes;
	return s->staging + at;
}

int staging_take(struct stream *s, struct op *op, struct need *need)
{
	void *room;

	/* A graph outlives the stream, so its copy is in ordinary memory. */
	if (s->capture) {
		op->source = malloc(op->bytes);
		if (!op->source)
			return stream_because(ENOMEM, "no memory to stage");
		op->from = memcpy(op->source, op->from, op->bytes);
		return 0;
	}
	room = staging_room(s, op->bytes);
	if (!room) {
		/*
		 * The first operation has to end in any case, others perhaps.
		 */
		s->counts.added_host++;
		return need_of(need, s, s->retired + 1);
	}
	op->from = room; /* stream_submit() copies */
	op->staging_end = s->staging_head;
	return 0;
}
