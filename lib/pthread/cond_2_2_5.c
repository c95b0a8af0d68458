// SPDX-License-Identifier: MIT
/*
 * pthread_cond_*@GLIBC_2.2.5: programs linked before glibc 2.3.2 (2002) have a
 * smaller condition variable. Its first word, zero at first, becomes a pointer
 * to a real one, allocated when it is needed.
 */
#include <stdlib.h>

#include "drop_in.h"

#ifdef __x86_64__ /* no other 64-bit port that is supported had them */

struct old_cond {
	_Atomic(pthread_cond_t *) cond;
};

static pthread_cond_t *real_cond(struct old_cond *old)
{
	pthread_cond_t *cond = load_acquire(&old->cond);
	pthread_cond_t *fresh;

	if (cond)
		return cond;
	fresh = calloc(1, sizeof(*fresh));
	if (!fresh)
		return NULL;
	/* [O-COND] Publishes the zeroes; pairs with each load_acquire() here. */
	if (cas_acq_rel(&old->cond, &cond, fresh))
		return fresh;
	free(fresh);
	return cond;
}

static int old_init(struct old_cond *old, const pthread_condattr_t *attr)
{
	(void)attr; /* none that existed then had a meaning */
	store_relaxed(&old->cond, NULL);
	return 0;
}

static int old_destroy(struct old_cond *old)
{
	pthread_cond_t *cond = load_acquire(&old->cond);

	if (!cond)
		return 0;
	drop_in_cond_destroy(cond);
	free(cond);
	store_relaxed(&old->cond, NULL);
	return 0;
}

static int old_wait(struct old_cond *old, pthread_mutex_t *mutex)
{
	pthread_cond_t *cond = real_cond(old);

	return cond ? drop_in_cond_wait(cond, mutex) : ENOMEM;
}

static int old_timedwait(struct old_cond *old, pthread_mutex_t *mutex,
			 const struct timespec *abstime)
{
	pthread_cond_t *cond = real_cond(old);

	return cond ? drop_in_cond_timedwait(cond, mutex, abstime) : ENOMEM;
}

static int old_signal(struct old_cond *old)
{
	pthread_cond_t *cond = load_acquire(&old->cond);

	return cond ? drop_in_cond_signal(cond) : 0;
}

static int old_broadcast(struct old_cond *old)
{
	pthread_cond_t *cond = load_acquire(&old->cond);

	return cond ? drop_in_cond_broadcast(cond) : 0;
}

EXPORT(pthread_cond_init, old, old_init, "@GLIBC_2.2.5");
EXPORT(pthread_cond_destroy, old, old_destroy, "@GLIBC_2.2.5");
EXPORT(pthread_cond_wait, old, old_wait, "@GLIBC_2.2.5");
EXPORT(pthread_cond_timedwait, old, old_timedwait, "@GLIBC_2.2.5");
EXPORT(pthread_cond_signal, old, old_signal, "@GLIBC_2.2.5");
EXPORT(pthread_cond_broadcast, old, old_broadcast, "@GLIBC_2.2.5");
#endif
