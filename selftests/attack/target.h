/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * target.h - what a storm is let loose on: one mutex, and condvars that come
 * and go
 *
 * Every kind of mutex that the API has can be drawn. A condvar of threads lies
 * in pages of its own, which are gone when it is destroyed: who touches it
 * later gets SIGSEGV. One of processes must stay where all see it: it is
 * filled with bytes that no condvar has.
 */
#ifndef DROVER_SELFTESTS_TARGET_H
#define DROVER_SELFTESTS_TARGET_H

#include <string.h>
#include <sys/mman.h>

#include "run.h"
#include "api.h"
#include "tap.h"

#define NR_SHARED_CONDS 32

struct target {
	api_mutex_t mutex;
	api_cond_t *cond; /* [mutex] */
	const char *kind; /* of the mutex */
	bool shared;
	int next;
	api_cond_t shared_conds[NR_SHARED_CONDS];
};

static inline void *target_map(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		tap_bail("mmap: %s", strerror(errno));
	return memory;
}

/* target_new_cond - another condvar; the caller makes it the current one */
static inline api_cond_t *target_new_cond(struct target *t)
{
	api_cond_t *cond;

	if (t->shared)
		cond = &t->shared_conds[t->next++ % NR_SHARED_CONDS];
	else
		cond = target_map(sizeof(*cond));
	if (kind_cond_init(cond, t->shared))
		tap_bail("cond_init");
	return cond;
}

/* target_end_cond - destroy a condvar that has just been broadcast to */
static inline void target_end_cond(struct target *t, api_cond_t *cond)
{
	kind_cond_destroy(cond, &t->mutex);
	if (t->shared)
		memset(cond, 0xa5, sizeof(*cond));
	else
		munmap(cond, sizeof(*cond));
}

/* target_init - a mutex of kind number @nr_kind, and a first condvar */
static inline void target_init(struct target *t, bool shared, uint32_t nr_kind)
{
	const struct mutex_kind *kind = &mutex_kinds[nr_kind];

	t->shared = shared;
	t->kind = kind->name;
	if (kind_mutex_init(&t->mutex, kind, shared))
		tap_bail("mutex_init");
	t->cond = target_new_cond(t);
}

#endif /* DROVER_SELFTESTS_TARGET_H */
