/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kinds.h - every kind of mutex that the API has, and condvars to go with it
 *
 *	kind_mutex_init(&mutex, &mutex_kinds[random_below(&random,
 *							   NR_MUTEX_KINDS)],
 *			shared);
 *	kind_cond_init(&cond, shared);
 *	kind_broadcast(&cond, &mutex);
 *
 * The usual kind is there more than once, to be drawn more often. Where the
 * native API takes the mutex with a broadcast or destroy, it is given.
 */
#ifndef DROVER_SELFTESTS_KINDS_H
#define DROVER_SELFTESTS_KINDS_H

#include <stdbool.h>
#include <string.h>

#include "cond_api.h"

#ifdef API_PTHREAD

static inline int kind_cond_init(api_cond_t *cond, bool shared)
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

static inline int kind_mutex_init(api_mutex_t *mutex,
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
static inline int kind_timedlock(api_mutex_t *mutex,
				 const struct timespec *realtime)
{
	return pthread_mutex_timedlock(mutex, realtime);
}

static inline int kind_broadcast(api_cond_t *cond, api_mutex_t *mutex)
{
	(void)mutex;
	return pthread_cond_broadcast(cond);
}

static inline int kind_cond_destroy(api_cond_t *cond, api_mutex_t *mutex)
{
	(void)mutex;
	return pthread_cond_destroy(cond);
}

#else /* native */

static inline int kind_cond_init(api_cond_t *cond, bool shared)
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

static inline int kind_mutex_init(api_mutex_t *mutex,
				  const struct mutex_kind *kind, bool shared)
{
	const drover_mutexattr_t attr = {
		.flags = kind->flags | (shared ? DROVER_MUTEX_SHARED : 0),
	};

	return drover_mutex_init(mutex, &attr);
}

static inline int kind_timedlock(api_mutex_t *mutex,
				 const struct timespec *realtime)
{
	return drover_mutex_timedlock(mutex, CLOCK_REALTIME, realtime);
}

static inline int kind_broadcast(api_cond_t *cond, api_mutex_t *mutex)
{
	return drover_cond_broadcast_on(cond, mutex);
}

static inline int kind_cond_destroy(api_cond_t *cond, api_mutex_t *mutex)
{
	return drover_cond_destroy_on(cond, mutex);
}

#endif

/* kind_named - the kind called @name, which exists */
static inline const struct mutex_kind *kind_named(const char *name)
{
	const struct mutex_kind *kind = mutex_kinds;

	while (strcmp(kind->name, name) != 0)
		kind++;
	return kind;
}

#define NR_MUTEX_KINDS (sizeof(mutex_kinds) / sizeof(*mutex_kinds))

#endif /* DROVER_SELFTESTS_KINDS_H */
