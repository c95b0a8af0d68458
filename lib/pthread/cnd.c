// SPDX-License-Identifier: MIT
/*
 * C11's cnd_*: in glibc a cnd_t is a pthread_cond_t and an mtx_t is a
 * pthread_mutex_t. Waits are cancellation points, as glibc's are.
 */
#include <threads.h>

#include "drop_in.h"

_Static_assert(sizeof(struct cond) <= sizeof(cnd_t), "fits");

static int thrd_result(int err)
{
	switch (err) {
	case 0:
		return thrd_success;
	case ETIMEDOUT:
		return thrd_timedout;
	case ENOMEM:
		return thrd_nomem;
	case EBUSY:
		return thrd_busy;
	default:
		return thrd_error;
	}
}

static int drop_in_cnd_init(cnd_t *cond)
{
	return thrd_result(drop_in_cond_init((pthread_cond_t *)cond, NULL));
}

static void drop_in_cnd_destroy(cnd_t *cond)
{
	drop_in_cond_destroy((pthread_cond_t *)cond);
}

static int drop_in_cnd_wait(cnd_t *cond, mtx_t *mutex)
{
	return thrd_result(drop_in_cond_wait((pthread_cond_t *)cond,
					     (pthread_mutex_t *)mutex));
}

/* @abstime is in TIME_UTC, which is CLOCK_REALTIME. */
static int drop_in_cnd_timedwait(cnd_t *restrict cond, mtx_t *restrict mutex,
				 const struct timespec *restrict abstime)
{
	return thrd_result(drop_in_cond_clockwait((pthread_cond_t *)cond,
						  (pthread_mutex_t *)mutex,
						  CLOCK_REALTIME, abstime));
}

static int drop_in_cnd_signal(cnd_t *cond)
{
	return thrd_result(drop_in_cond_signal((pthread_cond_t *)cond));
}

static int drop_in_cnd_broadcast(cnd_t *cond)
{
	return thrd_result(drop_in_cond_broadcast((pthread_cond_t *)cond));
}

EXPORT(cnd_init, 0, drop_in_cnd_init, "@@GLIBC_2.34");
EXPORT(cnd_init, 1, drop_in_cnd_init, "@GLIBC_2.28");
EXPORT(cnd_destroy, 0, drop_in_cnd_destroy, "@@GLIBC_2.34");
EXPORT(cnd_destroy, 1, drop_in_cnd_destroy, "@GLIBC_2.28");
EXPORT(cnd_wait, 0, drop_in_cnd_wait, "@@GLIBC_2.34");
EXPORT(cnd_wait, 1, drop_in_cnd_wait, "@GLIBC_2.28");
EXPORT(cnd_timedwait, 0, drop_in_cnd_timedwait, "@@GLIBC_2.34");
EXPORT(cnd_timedwait, 1, drop_in_cnd_timedwait, "@GLIBC_2.28");
EXPORT(cnd_signal, 0, drop_in_cnd_signal, "@@GLIBC_2.34");
EXPORT(cnd_signal, 1, drop_in_cnd_signal, "@GLIBC_2.28");
EXPORT(cnd_broadcast, 0, drop_in_cnd_broadcast, "@@GLIBC_2.34");
EXPORT(cnd_broadcast, 1, drop_in_cnd_broadcast, "@GLIBC_2.28");
