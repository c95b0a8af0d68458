// SPDX-License-Identifier: MIT
/*
 * Which memory is the device's, and the host memory for staged copies.
 *
 * Only what is listed here is taken for device memory, so memory that nobody
 * has told us of is taken for the host's: a synchronization too many at worst.
 */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "stream/stream.h"

/* Memory that is not just the host's; no two overlap. */
struct range {
	uintptr_t start;
	size_t bytes;
	const struct backend *backend;
	enum memory kind;
};

/* A search tree; [stream_lock] */
static void *ranges;

/* What overlaps is the same. */
static int compare(const void *one, const void *two)
{
	const struct range *a = one, *b = two;

	if (a->start >= b->start + b->bytes)
		return 1;
	return b->start >= a->start + a->bytes ? -1 : 0;
}

/* The range that has a part of this memory, or NULL. */
static struct range *range_of(const void *start, size_t bytes)
{
	const struct range part = { .start = (uintptr_t)start, .bytes = bytes };
	struct range **found = tfind(&part, &ranges, compare);

	return found ? *found : NULL;
}

static bool lies_in(const struct range *range, const void *start, size_t bytes)
{
	uintptr_t address = (uintptr_t)start;

	return address >= range->start &&
	       bytes <= range->bytes - (address - range->start);
}

static int add_range(const struct stream *s, void *memory, size_t bytes,
		     enum memory kind)
{
	struct range *range = malloc(sizeof(*range)), **found = NULL;

	if (range) {
		*range = (struct range){ (uintptr_t)memory, bytes, s->backend,
					 kind };
		found = tsearch(range, &ranges, compare);
	}
	if (found && *found == range)
		return 0;
	free(range);
	return found ? stream_because(EINVAL, "%p is known already", memory) :
		       stream_because(ENOMEM, "no memory");
}

/* Ranges of a fork's parent: their memory may be the child's as well. */
void memory_after_fork(void)
{
	ranges = NULL;
}

bool memory_is_device(const void *start, size_t bytes)
{
	struct range *range = range_of(start, bytes);

	return range && range->kind == MEMORY_DEVICE &&
	       lies_in(range, start, bytes);
}

int memory_classify(const struct stream *s, struct op *op)
{
	struct footprint f = op_footprint(op);

	op->host = op->anything || op->kind == OP_HOST_CALL ||
		   (op->kind == OP_GRAPH && op->graph->calls);
	for (size_t i = 0; i < f.nr; i++) {
		const drover_access_t *a = &f.accesses[i];
		struct range *range = range_of(a->start, a->bytes);

		if ((!range || range->kind == MEMORY_PINNED) &&
		    op->kind == OP_SET && s->backend->cuda)
			return stream_because(EXDEV, "%p is no memory to set",
					      a->start);
		if (range && range->kind != MEMORY_DEVICE)
			range = NULL;
		/* Memory of threads is host memory to every other device. */
		if (range && range->backend->cuda && !s->backend->cuda)
			return stream_because(
				EXDEV,
				"the %s backend cannot reach memory of the %s one",
				s->backend->name, range->backend->name);
		if (!range || !lies_in(range, a->start, a->bytes))
			op->host = true;
	}
	return 0;
}

static int get_memory(drover_stream_t *stream, size_t bytes, void **memory,
		      enum memory kind)
{
	struct stream *s = stream_enter(stream);
	void *own = kind == MEMORY_PINNED && memory ? *memory : NULL;
	int err = 0;

	if (!s)
		return EBADF;
	if (!bytes || !memory)
		err = stream_because(EINVAL, "no bytes asked for, or no place");
	else if (own && range_of(own, bytes))
		err = stream_because(EINVAL, "%p is known already", own);
	stream_use(s);
	drover_mutex_unlock(&stream_lock);
	if (!err && !(*memory = s->backend->alloc(s, bytes, kind, own)))
		err = stream_because(ENOMEM, "no %s memory of %zu bytes",
				     s->backend->name, bytes);
	if (!err) {
		drover_mutex_lock(&stream_lock);
		err = add_range(s, *memory, bytes, kind);
		drover_mutex_unlock(&stream_lock);
		if (err)
			s->backend->free(s, *memory, kind);
	}
	stream_unuse(s);
	return err;
}

int drover_stream_alloc(drover_stream_t *stream, size_t bytes, void **memory)
{
	return get_memory(stream, bytes, memory, MEMORY_DEVICE);
}

int drover_stream_alloc_host(drover_stream_t *stream, size_t bytes,
			     void **memory)
{
	return get_memory(stream, bytes, memory, MEMORY_HOST);
}

int drover_stream_pin(drover_stream_t *stream, void *memory, size_t bytes)
{
	return get_memory(stream, bytes, memory ? &memory : NULL,
			  MEMORY_PINNED);
}

struct release {
	void *memory;
	enum memory kind;
	struct stream *kept; /* when the memory is in nobody's use */
};

static int release_step(struct stream *s, void *arg, struct need *need)
{
	struct release *r = arg;
	struct range *range = range_of(r->memory, 1);
	struct op write = { .nr_accesses = 1 };

	if (!range || range->start != (uintptr_t)r->memory ||
	    range->backend->cuda != s->backend->cuda)
		return stream_because(EINVAL, "%p is no such memory",
				      r->memory);
	write.accesses[0] =
		(drover_access_t){ r->memory, range->bytes, DROVER_WRITE };
	/* Whether they have failed makes no difference. */
	engine_order(s, &write, need);
	if (need->on)
		return EAGAIN;
	r->kind = range->kind;
	tdelete(range, &ranges, compare);
	free(range);
	stream_use(s);
	r->kept = s;
	return 0;
}

int drover_stream_free(drover_stream_t *stream, void *memory)
{
	struct release r = { .memory = memory };
	int err = memory ? stream_repeat(stream, release_step, &r) : 0;

	if (r.kept) {
		r.kept->backend->free(r.kept, memory, r.kind);
		stream_unuse(r.kept);
	}
	return err;
}

/* ---- staging: a ring that is given back in the order of the operations ---- */

/* Room for @bytes in one piece; NULL: not before more is given back. */
static void *staging_room(struct stream *s, size_t bytes)
{
	size_t at = s->staging_head % s->staging_bytes, skip;

	/*
	 * With nothing in use the ring begins anew, so that a loop that waits for
	 * each of its steps stays in memory that is in the cache.
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

	/* A graph's lives longer than the stream: it is ordinary memory. */
	if (s->capture) {
		op->source = malloc(op->bytes);
		if (!op->source)
			return stream_because(ENOMEM, "no memory to stage");
		op->from = memcpy(op->source, op->from, op->bytes);
		return 0;
	}
	room = staging_room(s, op->bytes);
	if (!room) {
		/* All that is under way may have to go: it does for certain. */
		s->counts.throttled++;
		return need_of(need, s, s->retired + 1);
	}
	op->from = room; /* stream_submit() copies */
	op->staging_end = s->staging_head;
	return 0;
}
