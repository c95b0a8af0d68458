// SPDX-License-Identifier: MIT
/* Streams: their beginning and their end. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "stream/cuda.h"
#include "stream/engine.h"
#include "stream/memory.h"
#include "stream/queue.h"
#include "stream/wait.h"

#define STREAM_DEPTH   256
#define STREAM_STAGING (1u << 20)
#define STAGING_LEAST  8192u

/* The child of a fork has none of the threads: every stream has ended there. */
static void after_fork(void)
{
	stream_lock = (drover_mutex_t)DROVER_MUTEX_INITIALIZER;
	for (struct stream *s = streams; s < streams + nr_slots; s++) {
		uint32_t life = load_relaxed(&s->life);

		store_relaxed(&s->life, life + (life & 1));
		s->taken = false;
		store_relaxed(&s->users, 0);
		store_relaxed(&s->posted.sleepers, 0);
		store_relaxed(&s->done.sleepers, 0);
	}
	memory_after_fork();
	queue_after_fork();
	OBSERVE(child_begins);
}

__attribute__((constructor)) static void stream_start(void)
{
	pthread_atfork(NULL, NULL, after_fork);
}

static const struct backend *backend_of(uint32_t id)
{
	if (stream_of_tests && id == stream_of_tests->id)
		return stream_of_tests;
	return id == DROVER_BACKEND_CPU	 ? &stream_cpu :
	       id == DROVER_BACKEND_CUDA ? &stream_cuda :
					   NULL;
}

static int check_attr(const drover_streamattr_t *attr)
{
	const char *what = !backend_of(attr->backend)	     ? "backend" :
			   attr->order > DROVER_ORDER_CALLER ? "order" :
			   attr->depth > 1u << 20	     ? "depth" :
			   attr->reserved		     ? "reserved" :
			   attr->native && attr->backend !=
						   DROVER_BACKEND_CUDA ?
					    "native" :
					    NULL;

	return what ? stream_because(EINVAL, "attr.%s is out of range", what) :
		      0;
}

static struct stream *take_slot(void)
{
	struct stream *s = streams;

	drover_mutex_lock(&stream_lock);
	while (s < streams + STREAM_MAX && s->taken)
		s++;
	s = s < streams + STREAM_MAX ? s : NULL;
	if (s) {
		s->taken = true;
		s->slot = (uint32_t)(s - streams);
		nr_slots = s->slot < nr_slots ? nr_slots : s->slot + 1;
	}
	drover_mutex_unlock(&stream_lock);
	return s;
}

static void give_slot(struct stream *s)
{
	drover_mutex_lock(&stream_lock);
	s->taken = false;
	drover_mutex_unlock(&stream_lock);
}

/*
 * Numbers go on from the previous stream of the slot: all its operations are
 * done. Sleepers and users are not reset, as there are none.
 */
static void set_up(struct stream *s, const drover_streamattr_t *attr)
{
	s->backend = backend_of(attr->backend);
	s->order = (enum drover_order)attr->order;
	s->depth = attr->depth ? attr->depth : STREAM_DEPTH;
	s->device = attr->device;
	s->staging_bytes = attr->staging ? attr->staging : STREAM_STAGING;
	if (s->staging_bytes < STAGING_LEAST)
		s->staging_bytes = STAGING_LEAST;
	s->staging_head = s->staging_tail = s->staging_wanted = 0;
	memset(s->clock, 0, sizeof(s->clock));
	memset(&s->counts, 0, sizeof(s->counts));
	/* After a fork some of the operations may never be done. */
	store_relaxed(&s->done.at, s->submitted);
	store_relaxed(&s->posted.at, s->submitted);
	s->retired = s->host_number = s->wanted = s->submitted;
	s->capture = NULL;
	store_relaxed(&s->worker, 0);
	/* A release, for the acquire loads of outcome() in ticket.c. */
	store_release(&s->failure, FAILURE_NONE);
}

static int open_slot(struct stream *s, const drover_streamattr_t *attr)
{
	void *memory;
	size_t bytes;
	int err;

	set_up(s, attr);
	/* One allocation for the ring, with its clocks behind it. */
	bytes = s->depth * (sizeof(*s->ring) + sizeof(*s->clocks));
	err = memory_alloc(s, bytes, MEMORY_HOST, &memory);
	if (err)
		return err;
	s->ring = memset(memory, 0, bytes);
	s->clocks = (void *)(s->ring + s->depth);
	err = s->backend->open(s, attr);
	if (!err) {
		err = s->backend->alloc(s, s->staging_bytes, MEMORY_HOST,
					&memory);
		s->staging = memory;
		if (!err)
			return 0;
		s->backend->close(s);
	}
	free(s->ring);
	return err;
}

int drover_stream_create(drover_stream_t *stream,
			 const drover_streamattr_t *attr)
{
	const drover_streamattr_t none = { 0 };
	struct stream *s;
	int err;

	attr = attr ? attr : &none;
	err = check_attr(attr);
	if (err)
		return err;
	s = take_slot();
	if (!s)
		return stream_because(EAGAIN, "there are %d streams already",
				      STREAM_MAX);
	err = open_slot(s, attr);
	if (err) {
		give_slot(s);
		return err;
	}
	drover_mutex_lock(&stream_lock);
	store_release(&s->life, load_relaxed(&s->life) + 1);
	*stream = (drover_stream_t){ .name = { s->slot,
					       load_relaxed(&s->life) } };
	OBSERVE(stream_begins, s);
	drover_mutex_unlock(&stream_lock);
	return 0;
}

/* When all is done, end the stream, and store it in @arg. */
static int destroy_step(struct stream *s, void *arg, struct need *need)
{
	int err = stream_captures(s);

	if (err)
		return err;
	if (!stream_is_done(s, s->submitted))
		return need_of(need, s, s->submitted);
	err = stream_error(s);
	engine_pass_error_on(s);
	OBSERVE(stream_ends, s);
	/* From here on no call finds the stream. */
	store_seq_cst(&s->life, load_relaxed(&s->life) + 1); /* [S-USERS] */
	*(struct stream **)arg = s;
	return err;
}

int drover_stream_destroy(drover_stream_t *stream)
{
	struct stream *s = NULL;
	int err = stream_repeat(stream, destroy_step, &s);
	uint32_t users;

	if (!s)
		return err;
	/* Nothing is under way; wait for the last user to leave. */
	while ((users = load_seq_cst(&s->users))) /* [S-USERS] */
		futex_wait(&s->users, users, NULL, false);
	drover_mutex_lock(&stream_lock);
	/* retire() kept the operations behind a failure. */
	while (s->retired < s->submitted)
		op_free(stream_op(s, ++s->retired));
	drover_mutex_unlock(&stream_lock);
	s->backend->free(s, s->staging, MEMORY_HOST);
	s->backend->close(s);
	free(s->ring);
	give_slot(s);
	return err;
}

int drover_stream_native(drover_stream_t *stream, void **native)
{
	struct stream *s = stream_enter(stream);

	if (!s)
		return EBADF;
	*native = s->native;
	drover_mutex_unlock(&stream_lock);
	return 0;
}

int drover_stream_counts(drover_stream_t *stream,
			 drover_stream_counts_t *counts)
{
	struct stream *s = stream_enter(stream);

	if (!s)
		return EBADF;
	*counts = s->counts;
	drover_mutex_unlock(&stream_lock);
	return 0;
}
