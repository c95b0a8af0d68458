/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * api.h - one name for the functions of both APIs, and each kind of mutex they
 * have
 */
#pragma once

#include <dlfcn.h>
#include <limits.h>

#include "tap.h"

/*
 * drop_in_load(argv) runs this pthread program on libdrover-pthread
 *
 * Unless the library is loaded already, the program executes itself again with
 * the library in LD_PRELOAD. The library has to be in ../../lib from the
 * program, as in the build folder and in a guest. With STOCK=1 in the
 * environment it is not loaded, for comparison with the C library's own
 * condvars.
 */

#define DROP_IN_LIBRARY "libdrover-pthread.so.1"

static inline bool drop_in_wanted(void)
{
	return !getenv("STOCK");
}

/* drop_in_owns - is @function, found by dlsym or dlvsym, the library's? */
static inline bool drop_in_owns(void *function)
{
	Dl_info info;

	return function && dladdr(function, &info) && info.dli_fname &&
	       strstr(info.dli_fname, "libdrover-pthread");
}

static inline bool drop_in_loaded(void)
{
	return drop_in_owns(dlsym(RTLD_DEFAULT, "pthread_cond_wait"));
}

static inline void drop_in_load(char **argv)
{
	const char *before = getenv("LD_PRELOAD");
	char path[PATH_MAX], near[PATH_MAX + 64], list[2 * PATH_MAX];

	if (!drop_in_wanted() || drop_in_loaded())
		return;
	if (getenv("DROP_IN_LOADING"))
		tap_bail("LD_PRELOAD=%s had no effect", before);
	if (!realpath("/proc/self/exe", path))
		tap_bail("/proc/self/exe: %s", strerror(errno));
	*strrchr(path, '/') = '\0';
	snprintf(near, sizeof(near), "%s/../../lib/" DROP_IN_LIBRARY, path);
	if (!realpath(near, path))
		tap_bail("%s: %s; build it with: make -C lib", near,
			 strerror(errno));
	/*
	 * A library that is preloaded already, such as a sanitizer, is first.
	 */
	snprintf(list, sizeof(list), "%s%s%s", before ? before : "",
		 before && *before ? ":" : "", path);
	setenv("LD_PRELOAD", list, 1);
	setenv("DROP_IN_LOADING", "1", 1);
	execv("/proc/self/exe", argv);
	tap_bail("%s: %s", argv[0], strerror(errno));
}

/*
 * One name for the native functions and for pthread's, so that a promise of
 * both has one test. main() calls api_start() first.
 */

#ifdef API_PTHREAD

#include <pthread.h>

#define API(name)	      pthread_##name
#define API_COND_INITIALIZER  PTHREAD_COND_INITIALIZER
#define API_MUTEX_INITIALIZER PTHREAD_MUTEX_INITIALIZER
#define API_IS_PTHREAD	      1

typedef pthread_cond_t api_cond_t;
typedef pthread_mutex_t api_mutex_t;

/* The programs of attack/ and mark_* are linked to the library. */
static inline void api_start(char **argv)
{
#if !defined(DROVER_FAKE_FUTEX) && !defined(DROVER_REQUEUE_MARK)
	drop_in_load(argv);
#endif
}

#define api_mutex_timedlock pthread_mutex_clocklock

#else /* native */

#include <drover/cond.h>
#include <drover/mutex.h>

#define API(name)	      drover_##name
#define API_COND_INITIALIZER  DROVER_COND_INITIALIZER
#define API_MUTEX_INITIALIZER DROVER_MUTEX_INITIALIZER
#define API_IS_PTHREAD	      0

typedef drover_cond_t api_cond_t;
typedef drover_mutex_t api_mutex_t;

static inline void api_start(char **argv)
{
}

#define api_mutex_timedlock drover_mutex_timedlock

#endif

#define api_mutex_init(mutex) API(mutex_init)(mutex, NULL)
#define api_mutex_destroy     API(mutex_destroy)
#define api_mutex_lock	      API(mutex_lock)
#define api_mutex_trylock     API(mutex_trylock)
#define api_mutex_unlock      API(mutex_unlock)
#define api_cond_init(cond)   API(cond_init)(cond, NULL)
#define api_cond_destroy      API(cond_destroy)
#define api_cond_wait	      API(cond_wait)
/* The deadline is on the condvar's own clock, CLOCK_REALTIME. */
#define api_cond_timedwait API(cond_timedwait)
#define api_cond_clockwait API(cond_clockwait)
#define api_cond_signal	   API(cond_signal)
#define api_cond_broadcast API(cond_broadcast)

/* unlock - a clean-up handler */
static inline void unlock(void *mutex)
{
	api_mutex_unlock(mutex);
}

/*
 * api_time_out - lock, and wait with a deadline in the past: its result, or -1
 */
static inline int api_time_out(api_cond_t *cond, api_mutex_t *mutex)
{
	const struct timespec past = { 0, 0 };
	int err;

	if (api_mutex_lock(mutex))
		return -1;
	err = api_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &past);
	api_mutex_unlock(mutex);
	return err;
}

/* signal_as - signal with the mutex held, or without */
static inline void signal_as(api_cond_t *cond, api_mutex_t *mutex, bool held)
{
	if (held)
		api_mutex_lock(mutex);
	api_cond_signal(cond);
	if (held)
		api_mutex_unlock(mutex);
}

static inline void broadcast_as(api_cond_t *cond, api_mutex_t *mutex, bool held)
{
	if (held)
		api_mutex_lock(mutex);
	api_cond_broadcast(cond);
	if (held)
		api_mutex_unlock(mutex);
}

/* api_mutex_has - is @word, an argument of a futex call, a part of @mutex? */
static inline bool api_mutex_has(const api_mutex_t *mutex, const void *word)
{
	return (uintptr_t)word - (uintptr_t)mutex < sizeof(*mutex);
}

/*
 * Every kind of mutex that the API has, and condvars to go with it
 *
 * Tests that draw a kind choose among the first NR_MUTEX_KINDS. The usual kind
 * is in the list more than once, so it is drawn more often. kind_broadcast()
 * and kind_cond_destroy() name the mutex if the API allows that.
 */

#ifdef API_PTHREAD

static inline int cond_init_for(api_cond_t *cond, clockid_t clock, bool shared)
{
	pthread_condattr_t attr;
	int err;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, clock);
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
	{ "robust PI", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT,
	  PTHREAD_MUTEX_ROBUST },
	{ "protect", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT, 0 },
};

#define NR_MUTEX_KINDS 8

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
#define kind_timedlock		       pthread_mutex_timedlock
#define kind_broadcast(cond, mutex)    pthread_cond_broadcast(cond)
#define kind_cond_destroy(cond, mutex) pthread_cond_destroy(cond)

#else /* native */

static inline int cond_init_for(api_cond_t *cond, clockid_t clock, bool shared)
{
	const drover_condattr_t attr = {
		.clock = clock,
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
	{ "recursive PI", DROVER_MUTEX_RECURSIVE | DROVER_MUTEX_PI },
	{ "robust PI", DROVER_MUTEX_ROBUST | DROVER_MUTEX_PI },
};

#define NR_MUTEX_KINDS 7

static inline int kind_mutex_init(api_mutex_t *mutex,
				  const struct mutex_kind *kind, bool shared)
{
	const drover_mutexattr_t attr = {
		.flags = kind->flags | (shared ? DROVER_MUTEX_SHARED : 0),
	};

	return drover_mutex_init(mutex, &attr);
}

#define kind_timedlock(mutex, realtime) \
	drover_mutex_timedlock(mutex, CLOCK_REALTIME, realtime)
#define kind_broadcast	  drover_cond_broadcast_on
#define kind_cond_destroy drover_cond_destroy_on

#endif

#define kind_cond_init(cond, shared) cond_init_for(cond, CLOCK_REALTIME, shared)

/* kind_named - the kind called @name, which must exist */
static inline const struct mutex_kind *kind_named(const char *name)
{
	const struct mutex_kind *kind = mutex_kinds;

	while (strcmp(kind->name, name) != 0)
		kind++;
	return kind;
}
