/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cond_api.h - one name for the native functions and for pthread's
 *
 * A property that both promise is written once, in cond/ or mutex/, with the
 * api_ names, which are the native ones. pthread/ has a program of the same
 * name, which tests the drop-in:
 *
 *
 * api_start() comes first in main().
 */
#ifndef DROVER_SELFTESTS_COND_API_H
#define DROVER_SELFTESTS_COND_API_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#ifdef API_PTHREAD

#include <pthread.h>

#include "drop_in.h"

#define API(name)	      pthread_##name
#define API_COND_INITIALIZER  PTHREAD_COND_INITIALIZER
#define API_MUTEX_INITIALIZER PTHREAD_MUTEX_INITIALIZER
#define API_IS_PTHREAD	      1
/* A mutex that tells its holder from others. */
#define API_MUTEX_CHECKED_INITIALIZER PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP

typedef pthread_cond_t api_cond_t;
typedef pthread_mutex_t api_mutex_t;

static inline void api_start(char **argv)
{
	drop_in_load(argv);
}

static inline int api_mutex_timedlock(api_mutex_t *mutex, clockid_t clock,
				      const struct timespec *deadline)
{
	return pthread_mutex_clocklock(mutex, clock, deadline);
}

#else /* native */

#include <drover/cond.h>
#include <drover/mutex.h>

#define API(name)		      drover_##name
#define API_COND_INITIALIZER	      DROVER_COND_INITIALIZER
#define API_MUTEX_INITIALIZER	      DROVER_MUTEX_INITIALIZER
#define API_IS_PTHREAD		      0
#define API_MUTEX_CHECKED_INITIALIZER DROVER_MUTEX_INITIALIZER

typedef drover_cond_t api_cond_t;
typedef drover_mutex_t api_mutex_t;

static inline void api_start(char **argv)
{
	(void)argv;
}

static inline int api_mutex_timedlock(api_mutex_t *mutex, clockid_t clock,
				      const struct timespec *deadline)
{
	return drover_mutex_timedlock(mutex, clock, deadline);
}

#endif

static inline int api_mutex_init(api_mutex_t *mutex)
{
	return API(mutex_init)(mutex, NULL);
}

static inline int api_mutex_destroy(api_mutex_t *mutex)
{
	return API(mutex_destroy)(mutex);
}

static inline int api_mutex_lock(api_mutex_t *mutex)
{
	return API(mutex_lock)(mutex);
}

static inline int api_mutex_trylock(api_mutex_t *mutex)
{
	return API(mutex_trylock)(mutex);
}

static inline int api_mutex_unlock(api_mutex_t *mutex)
{
	return API(mutex_unlock)(mutex);
}

static inline int api_cond_init(api_cond_t *cond)
{
	return API(cond_init)(cond, NULL);
}

static inline int api_cond_destroy(api_cond_t *cond)
{
	return API(cond_destroy)(cond);
}

static inline int api_cond_wait(api_cond_t *cond, api_mutex_t *mutex)
{
	return API(cond_wait)(cond, mutex);
}

/* On the condvar's own clock, CLOCK_REALTIME. */
static inline int api_cond_timedwait(api_cond_t *cond, api_mutex_t *mutex,
				     const struct timespec *deadline)
{
	return API(cond_timedwait)(cond, mutex, deadline);
}

static inline int api_cond_clockwait(api_cond_t *cond, api_mutex_t *mutex,
				     clockid_t clock,
				     const struct timespec *deadline)
{
	return API(cond_clockwait)(cond, mutex, clock, deadline);
}

static inline int api_cond_signal(api_cond_t *cond)
{
	return API(cond_signal)(cond);
}

static inline int api_cond_broadcast(api_cond_t *cond)
{
	return API(cond_broadcast)(cond);
}

/* api_mutex_has - is @word, which a futex call was given, a part of @mutex? */
static inline bool api_mutex_has(const api_mutex_t *mutex, const void *word)
{
	return (uintptr_t)word - (uintptr_t)mutex < sizeof(*mutex);
}

#endif /* DROVER_SELFTESTS_COND_API_H */
