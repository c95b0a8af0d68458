// SPDX-License-Identifier: MIT
/* drover_cond_t: the condition variable over drover_mutex_t. */
#include <drover/cond.h>

#include "cond/cond.h"
#include "mutex/mutex.h"

_Static_assert(sizeof(struct cond) <= sizeof(drover_cond_t), "fits");
_Static_assert(_Alignof(struct cond) <= _Alignof(drover_cond_t), "fits");

int user_mutex_prepare(void *mutex, void **movable, futex_word **pi_word)
{
	struct mutex *m = mutex;

	if (!mutex_held_by_caller(m))
		return EPERM;
	if (m->count > 0)
		*movable = NULL;
	else if (mutex_is_pi(m) && !mutex_is_shared(m))
		*pi_word = &m->word;
	return 0;
}

int user_mutex_unlock(void *mutex)
{
	return drover_mutex_unlock(mutex);
}

int user_mutex_lock(void *mutex, bool moved)
{
	struct mutex *m = mutex;

	/* A shared condvar that once moved its waiters has other mutexes, too. */
	if (moved && !mutex_is_pi(m) && !mutex_held_by_caller(m))
		return mutex_take_contended(m, NULL);
	return mutex_lock_slow(m, NULL, false);
}

enum mutex_holder user_mutex_holder(void *mutex, futex_word **word)
{
	struct mutex *m = mutex;

	/* Waiters of a private condvar sleep on a private futex. */
	if (mutex_is_pi(m) || mutex_is_shared(m))
		return MUTEX_UNMOVABLE;
	*word = &m->word;
	if (load_relaxed(&m->word) == LOCK_FREE)
		return MUTEX_FREE;
	return mutex_held_by_caller(m) ? MUTEX_HELD_BY_CALLER :
					 MUTEX_HELD_BY_OTHER;
}

bool cancellation_is_due(void)
{
	return false;
}

int drover_cond_init(drover_cond_t *cond, const drover_condattr_t *attr)
{
	if (attr &&
	    (attr->flags & ~DROVER_COND_SHARED ||
	     (attr->clock != CLOCK_REALTIME && attr->clock != CLOCK_MONOTONIC)))
		return EINVAL;
	debug_pointer(cond, _Alignof(struct cond), "condition variable",
		      __func__);
	cond_init((struct cond *)cond, attr ? attr->clock : CLOCK_REALTIME,
		  attr && attr->flags & DROVER_COND_SHARED);
	return 0;
}

int drover_cond_destroy(drover_cond_t *cond)
{
	cond_destroy(cond_of(cond), NULL, __func__);
	return 0;
}

HOT int drover_cond_wait(drover_cond_t *cond, drover_mutex_t *mutex)
{
	return cond_wait(cond_of(cond), mutex_of(mutex), NULL);
}

int drover_cond_timedwait(drover_cond_t *cond, drover_mutex_t *mutex,
			  const struct timespec *deadline)
{
	return drover_cond_clockwait(cond, mutex, cond_clock(cond_of(cond)),
				     deadline);
}

HOT int drover_cond_clockwait(drover_cond_t *cond, drover_mutex_t *mutex,
			      clockid_t clock, const struct timespec *deadline)
{
	struct deadline d = deadline_of(clock, deadline);

	if (!deadline_valid(&d))
		return EINVAL;
	return cond_wait(cond_of(cond), mutex_of(mutex), &d);
}

ONE_LINE int drover_cond_signal(drover_cond_t *cond)
{
	return cond_unless_idle(cond_of(cond), cond_signal);
}

ONE_LINE int drover_cond_broadcast(drover_cond_t *cond)
{
	return cond_unless_idle(cond_of(cond), cond_broadcast);
}

/* The word to which waiters of a shared condvar can be moved, or NULL. */
static futex_word *shared_target(drover_mutex_t *mutex)
{
	struct mutex *m = mutex_of(mutex);

	return mutex_is_shared(m) && !mutex_is_pi(m) ? &m->word : NULL;
}

int drover_cond_broadcast_on(drover_cond_t *cond, drover_mutex_t *mutex)
{
	struct cond *c = cond_of(cond);

	if (cond_is_shared(c))
		cond_shared_wake(c, true, shared_target(mutex));
	else
		drover_cond_broadcast(cond);
	return 0;
}

int drover_cond_destroy_on(drover_cond_t *cond, drover_mutex_t *mutex)
{
	cond_destroy(cond_of(cond), shared_target(mutex), __func__);
	return 0;
}

int drover_prepare_thread(void)
{
	struct waiter *w = waiter_self();
	void *spares[WAITER_SPARES];
	int nr = 0;

	while (w && nr < WAITER_SPARES && (spares[nr] = spare_get(w)))
		nr++;
	for (int i = 0; i < nr; i++)
		spare_put(w, spares[i]);
	return nr == WAITER_SPARES ? 0 : ENOMEM;
}

const char *drover_version(void)
{
	return DROVER_VERSION;
}
