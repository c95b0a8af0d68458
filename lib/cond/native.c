// SPDX-License-Identifier: MIT
/* drover_cond_t: the condition variable over drover_mutex_t. */
#define DROVER_NO_INLINE /* this file defines what the header puts inline */
#include <drover/cond.h>

#include "cond/group.h"
#include "mutex/mutex.h"

_Static_assert(sizeof(struct cond) <= sizeof(drover_cond_t), "fits");
_Static_assert(_Alignof(struct cond) <= _Alignof(drover_cond_t), "fits");
/* The inline functions of drover/cond.h read these two. */
_Static_assert(offsetof(struct cond, flags) == 9 * 4, "words[9]");
_Static_assert(offsetof(struct cond, closed_low) == 5 * 4, "words[5]");

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
	await_destroy(cond_of(cond));
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

int drover_cond_await(drover_cond_t *cond, drover_mutex_t *mutex,
		      bool (*predicate)(void *arg), void *arg)
{
	return cond_await(cond_of(cond), mutex_of(mutex), predicate, arg, NULL);
}

int drover_cond_await_until(drover_cond_t *cond, drover_mutex_t *mutex,
			    bool (*predicate)(void *arg), void *arg,
			    clockid_t clock, const struct timespec *deadline)
{
	struct deadline d = deadline_of(clock, deadline);

	if (!deadline_valid(&d))
		return EINVAL;
	return cond_await(cond_of(cond), mutex_of(mutex), predicate, arg, &d);
}

/*
 * Wake threads that wait with a predicate, if there are any. Return: true if no
 * other thread has to be woken.
 */
static inline bool awaiters_only(struct cond *c, bool all)
{
	return unlikely(load_relaxed(&c->flags) & COND_AWAITED) &&
	       await_wake(c, all);
}

ONE_LINE int drover_cond_signal(drover_cond_t *cond)
{
	struct cond *c = cond_of(cond);

	if (awaiters_only(c, false))
		return 0;
	return cond_signal(c);
}

ONE_LINE int drover_cond_broadcast(drover_cond_t *cond)
{
	struct cond *c = cond_of(cond);

	if (awaiters_only(c, true))
		return 0;
	return cond_broadcast(c, NULL);
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

	if (awaiters_only(c, true))
		return 0;
	return cond_broadcast(c, shared_target(mutex));
}

int drover_cond_destroy_on(drover_cond_t *cond, drover_mutex_t *mutex)
{
	await_destroy(cond_of(cond));
	cond_destroy(cond_of(cond), shared_target(mutex), __func__);
	return 0;
}

int drover_prepare_thread(void)
{
	struct waiter *w = waiter_self();

	if (w && !w->spare)
		w->spare = arena_get(ARENA_GROUPS);
	return w && w->spare ? 0 : ENOMEM;
}

const char *drover_version(void)
{
	return DROVER_VERSION;
}
