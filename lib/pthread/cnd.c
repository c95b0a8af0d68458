// SPDX-License-Identifier: MIT
/*
 * C11's cnd_*: in glibc a cnd_t is a pthread_cond_t and an mtx_t is a
 * pthread_mutex_t. Waits are cancellation points, as glibc's are.
 */
#include <threads.h>

#include "drop_in.h"

_Static_assert(sizeof(struct cond) <= sizeof(cnd_t), "fits");

/* Where nothing else is returned, it is the function of threads.h, too. */
_Static_assert(thrd_success == 0, "is no error");

static int thrd_result(int err)
{
	if (err == ETIMEDOUT)
		return thrd_timedout;
	return err ? thrd_error : thrd_success;
}

static int drop_in_cnd_init(cnd_t *cond)
{
	return drop_in_cond_init((pthread_cond_t *)cond, NULL);
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

#define EXPORT_CND(name, function)                 \
	EXPORT(name, 0, function, "@@GLIBC_2.34"); \
	EXPORT(name, 1, function, "@GLIBC_2.28")

EXPORT_CND(cnd_init, drop_in_cnd_init);
EXPORT_CND(cnd_destroy, drop_in_cond_destroy);
EXPORT_CND(cnd_wait, drop_in_cnd_wait);
EXPORT_CND(cnd_timedwait, drop_in_cnd_timedwait);
EXPORT_CND(cnd_signal, drop_in_cond_signal);
EXPORT_CND(cnd_broadcast, drop_in_cond_broadcast);
