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

#include "args.h"
#include "cond_api.h"
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

#ifdef COND_API_PTHREAD

static inline int target_cond_init(api_cond_t *cond, bool shared)
{
	pthread_condattr_t attr;
	int err;

	pthread_condattr_init(&attr);
	pthread_condattr_setpshared(&attr, shared);
	err = pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
	return err;
}

struct mutex_kind {
	const char *name;
	int type;
	int protocol;
	int robust;
};

static const struct mutex_kind mutex_kinds[] = {
	{ "normal", PTHREAD_MUTEX_NORMAL, 0, 0 },
	{ "normal", PTHREAD_MUTEX_NORMAL, 0, 0 },
	{ "recursive", PTHREAD_MUTEX_RECURSIVE, 0, 0 },
	{ "errorcheck", PTHREAD_MUTEX_ERRORCHECK, 0, 0 },
	{ "adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, 0, 0 },
	{ "robust", PTHREAD_MUTEX_NORMAL, 0, PTHREAD_MUTEX_ROBUST },
	{ "PI", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, 0 },
	{ "recursive PI", PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_INHERIT, 0 },
};

static inline int target_mutex_init(api_mutex_t *mutex,
				    const struct mutex_kind *kind, bool shared)
{
	pthread_mutexattr_t attr;
	int err;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, kind->type);
	pthread_mutexattr_setprotocol(&attr, kind->protocol);
	pthread_mutexattr_setrobust(&attr, kind->robust);
	pthread_mutexattr_setpshared(&attr, shared);
	err = pthread_mutex_init(mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	return err;
}

/* ThreadSanitizer does not know pthread_mutex_clocklock(). */
static inline int target_timedlock(api_mutex_t *mutex,
				   const struct timespec *realtime)
{
	return pthread_mutex_timedlock(mutex, realtime);
}

static inline int target_broadcast(api_cond_t *cond, api_mutex_t *mutex)
{
	(void)mutex;
	return pthread_cond_broadcast(cond);
}

static inline int target_cond_destroy(api_cond_t *cond, api_mutex_t *mutex)
{
	(void)mutex;
	return pthread_cond_destroy(cond);
}

#else /* native */

static inline int target_cond_init(api_cond_t *cond, bool shared)
{
	const drover_condattr_t attr = {
		.flags = shared ? DROVER_COND_SHARED : 0,
	};

	return drover_cond_init(cond, &attr);
}

struct mutex_kind {
	const char *name;
	uint32_t flags;
};

static const struct mutex_kind mutex_kinds[] = {
	{ "normal", 0 },
	{ "normal", 0 },
	{ "normal", 0 },
	{ "recursive", DROVER_MUTEX_RECURSIVE },
	{ "errorcheck", DROVER_MUTEX_ERRORCHECK },
	{ "robust", DROVER_MUTEX_ROBUST },
	{ "PI", DROVER_MUTEX_PI },
};

static inline int target_mutex_init(api_mutex_t *mutex,
				    const struct mutex_kind *kind, bool shared)
{
	const drover_mutexattr_t attr = {
		.flags = kind->flags | (shared ? DROVER_MUTEX_SHARED : 0),
	};

	return drover_mutex_init(mutex, &attr);
}

static inline int target_timedlock(api_mutex_t *mutex,
				   const struct timespec *realtime)
{
	return drover_mutex_timedlock(mutex, CLOCK_REALTIME, realtime);
}

static inline int target_broadcast(api_cond_t *cond, api_mutex_t *mutex)
{
	return drover_cond_broadcast_on(cond, mutex);
}

static inline int target_cond_destroy(api_cond_t *cond, api_mutex_t *mutex)
{
	return drover_cond_destroy_on(cond, mutex);
}

#endif

/* target_new_cond - another condvar; the caller makes it the current one */
static inline api_cond_t *target_new_cond(struct target *t)
{
	api_cond_t *cond;

	if (t->shared)
		cond = &t->shared_conds[t->next++ % NR_SHARED_CONDS];
	else
		cond = target_map(sizeof(*cond));
	if (target_cond_init(cond, t->shared))
		tap_bail("cond_init");
	return cond;
}

/* target_end_cond - destroy a condvar that has just been broadcast to */
static inline void target_end_cond(struct target *t, api_cond_t *cond)
{
	target_cond_destroy(cond, &t->mutex);
	if (t->shared)
		memset(cond, 0xa5, sizeof(*cond));
	else
		munmap(cond, sizeof(*cond));
}

#define NR_MUTEX_KINDS (sizeof(mutex_kinds) / sizeof(*mutex_kinds))

/* target_init - a mutex of kind number @nr_kind, and a first condvar */
static inline void target_init(struct target *t, bool shared, uint32_t nr_kind)
{
	const struct mutex_kind *kind = &mutex_kinds[nr_kind];

	t->shared = shared;
	t->kind = kind->name;
	if (target_mutex_init(&t->mutex, kind, shared))
		tap_bail("mutex_init");
	t->cond = target_new_cond(t);
}

#endif /* DROVER_SELFTESTS_TARGET_H */
