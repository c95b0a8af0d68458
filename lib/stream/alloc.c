// SPDX-License-Identifier: MIT
/* Device memory and pinned memory, also of the program's own. */
#include "stream/engine.h"
#include "stream/memory.h"
#include "stream/wait.h"

static int get_memory(drover_stream_t *stream, size_t bytes, void **memory,
		      enum memory kind)
{
	struct stream *s = stream_enter(stream);
	bool own = kind == MEMORY_PINNED || kind == MEMORY_DECLARED;
	int err = 0;

	if (!s)
		return EBADF;
	if (!bytes || !memory)
		err = stream_because(EINVAL, "no bytes, or a NULL pointer");
	else if (own && memory_range(*memory, bytes))
		err = stream_because(EINVAL, "%p is known already", *memory);
	stream_use(s);
	drover_mutex_unlock(&stream_lock);
	if (!err && kind != MEMORY_DECLARED)
		err = s->backend->alloc(s, bytes, kind, memory);
	if (!err) {
		drover_mutex_lock(&stream_lock);
		err = memory_add(s, *memory, bytes, kind);
		drover_mutex_unlock(&stream_lock);
		if (err && kind != MEMORY_DECLARED)
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

int drover_stream_declare(drover_stream_t *stream, void *memory, size_t bytes)
{
	return get_memory(stream, bytes, memory ? &memory : NULL,
			  MEMORY_DECLARED);
}

struct release {
	void *memory;
	enum memory kind;
	struct stream *kept; /* NULL until no operation uses the memory */
};

static int release_step(struct stream *s, void *arg, struct need *need)
{
	struct release *r = arg;
	struct range *range = memory_range(r->memory, 1);
	struct op write = { .nr_accesses = 1 };

	if (!range || range->start != (uintptr_t)r->memory ||
	    range->backend->cuda != s->backend->cuda)
		return stream_because(EINVAL, "%p is not known", r->memory);
	write.accesses[0] =
		(drover_access_t){ r->memory, range->bytes, DROVER_WRITE };
	/* It makes no difference whether these operations have failed. */
	engine_order(s, &write, need);
	if (need->on)
		return EAGAIN;
	r->kind = range->kind;
	memory_remove(range);
	stream_use(s);
	r->kept = s;
	return 0;
}

int drover_stream_free(drover_stream_t *stream, void *memory)
{
	struct release r = { .memory = memory };
	int err = memory ? stream_repeat(stream, release_step, &r) : 0;

	if (r.kept && r.kind != MEMORY_DECLARED)
		r.kept->backend->free(r.kept, memory, r.kind);
	if (r.kept)
		stream_unuse(r.kept);
	return err;
}
