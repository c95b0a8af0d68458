/* SPDX-License-Identifier: MIT */
/*
 * The functions of impl.h for an implementation whose calls are named like
 * POSIX's and return an error number. IMPL(name) is the implementation's own
 * mutex_t, cond_wait and so on.
 */
#ifndef BENCH_IMPL_CALLS_H
#define BENCH_IMPL_CALLS_H

#include <errno.h>

#include "bench.h"

struct impl_mutex {
	IMPL(mutex_t) m;
};

struct impl_cond {
	IMPL(cond_t) c;
};

static inline void impl_mutex_init(struct impl_mutex *mutex)
{
	bench_expect_0("mutex_init", IMPL(mutex_init)(&mutex->m, NULL));
}

static inline void impl_mutex_destroy(struct impl_mutex *mutex)
{
	bench_expect_0("mutex_destroy", IMPL(mutex_destroy)(&mutex->m));
}

static inline void impl_mutex_lock(struct impl_mutex *mutex)
{
	bench_expect_0("mutex_lock", IMPL(mutex_lock)(&mutex->m));
}

static inline void impl_mutex_unlock(struct impl_mutex *mutex)
{
	bench_expect_0("mutex_unlock", IMPL(mutex_unlock)(&mutex->m));
}

static inline void impl_cond_init(struct impl_cond *cond)
{
	bench_expect_0("cond_init", IMPL(cond_init)(&cond->c, NULL));
}

static inline void impl_cond_destroy(struct impl_cond *cond)
{
	bench_expect_0("cond_destroy", IMPL(cond_destroy)(&cond->c));
}

static inline void impl_cond_wait(struct impl_cond *cond,
				  struct impl_mutex *mutex)
{
	bench_expect_0("cond_wait", IMPL(cond_wait)(&cond->c, &mutex->m));
}

static inline bool impl_cond_timedwait(struct impl_cond *cond,
				       struct impl_mutex *mutex,
				       const struct timespec *deadline)
{
	int error = IMPL(cond_timedwait)(&cond->c, &mutex->m, deadline);

	if (error == ETIMEDOUT)
		return true;
	bench_expect_0("cond_timedwait", error);
	return false;
}

static inline void impl_cond_signal(struct impl_cond *cond)
{
	bench_expect_0("cond_signal", IMPL(cond_signal)(&cond->c));
}

static inline void impl_cond_broadcast(struct impl_cond *cond)
{
	bench_expect_0("cond_broadcast", IMPL(cond_broadcast)(&cond->c));
}

static const char *impl_library(void)
{
	return bench_file_of((void (*)(void))IMPL(cond_broadcast));
}

#endif
