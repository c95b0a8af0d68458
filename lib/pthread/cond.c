// SPDX-License-Identifier: MIT
/*
 * pthread_cond_* and C11's cnd_*: glibc's condition variables, replaced. Only
 * glibc's calling convention is here; everything else is in the core.
 *
 * Cancellation. If a thread's type is deferred, glibc's pthread_cancel() only
 * marks the thread. So it is replaced, too: it marks the thread, and if the
 * thread sleeps here, makes it look. That thread then leaves its group, and is
 * cancelled with the mutex held, at the pthread_testcancel() after cond_wait().
 * But if it finds that it has been released, the cancellation stays pending.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <threads.h>

#include "base/say.h"
#include "drop_in.h"

_Static_assert(sizeof(struct cond) <= sizeof(pthread_cond_t), "fits");
_Static_assert(_Alignof(struct cond) <= _Alignof(pthread_cond_t), "fits");
_Static_assert(sizeof(struct cond) <= sizeof(cnd_t), "fits");

static int drop_in_cond_init(pthread_cond_t *cond,
			     const pthread_condattr_t *attr)
{
	clockid_t clock = CLOCK_REALTIME;
	int pshared = PTHREAD_PROCESS_PRIVATE;

	if (attr) {
		pthread_condattr_getclock(attr, &clock);
		pthread_condattr_getpshared(attr, &pshared);
	}
	debug_pointer(cond, _Alignof(struct cond), "condition variable",
		      __func__);
	cond_init((struct cond *)cond, clock,
		  pshared == PTHREAD_PROCESS_SHARED);
	return 0;
}

static int drop_in_cond_destroy(pthread_cond_t *cond)
{
	cond_destroy(cond_of(cond), NULL, __func__);
	return 0;
}

/*
 * The caller may have the asynchronous type. While it waits, a cancellation is
 * deferred, as it could come between two steps of the protocol.
 *
 * [W-SEEN] A thread may be cancelled as it begins to wait.
 *
 *	CPU 0: waits				CPU 1: cancels it
 *
 *						glibc marks the thread
 *	acquire: note cancellations	<---	release: cancellations + 1
 *	look for the mark
 *
 * If CPU 0 notes the new count, it also finds the mark. Otherwise it would take
 * the cancellation for one that it has seen, and would sleep with it pending.
 */
static int wait_cancellable(struct cond *c, pthread_mutex_t *mutex,
			    const struct deadline *deadline)
{
	int err, type, ignored;
	struct waiter *w;

	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
	w = waiter_self();
	if (likely(w))
		w->cancellations_seen =
			load_acquire(&w->cancellations); /* [W-SEEN] */
	pthread_testcancel();
	err = cond_wait(c, mutex, deadline);
	if (err == ECANCELED) {
		pthread_testcancel();
		err = 0;
	}
	if (type != PTHREAD_CANCEL_DEFERRED)
		pthread_setcanceltype(type, &ignored);
	return err;
}

HOT static int drop_in_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	debug_pointer(mutex, _Alignof(pthread_mutex_t), "mutex", __func__);
	return wait_cancellable(cond_of(cond), mutex, NULL);
}

HOT static int drop_in_cond_clockwait(pthread_cond_t *cond,
				      pthread_mutex_t *mutex, clockid_t clock,
				      const struct timespec *abstime)
{
	struct deadline deadline = deadline_of(clock, abstime);

	if (!deadline_valid(&deadline))
		return EINVAL;
	debug_pointer(mutex, _Alignof(pthread_mutex_t), "mutex", __func__);
	return wait_cancellable(cond_of(cond), mutex, &deadline);
}

static int drop_in_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				  const struct timespec *abstime)
{
	return drop_in_cond_clockwait(cond, mutex, cond_clock(cond_of(cond)),
				      abstime);
}

ONE_LINE static int drop_in_cond_signal(pthread_cond_t *cond)
{
	return cond_signal(cond_of(cond));
}

ONE_LINE static int drop_in_cond_broadcast(pthread_cond_t *cond)
{
	return cond_broadcast(cond_of(cond), NULL);
}

/* All threads that look for it find the same. */
static _Atomic(__typeof__(&pthread_cancel)) glibc_cancel;

/*
 * The first thread to cancel calls this, too: other libraries' constructors may
 * come first, and cancel.
 */
__attribute__((constructor)) static void find_glibc_cancel(void)
{
	void *found = dlsym(RTLD_NEXT, "pthread_cancel");

	if (!found) {
		say("drover: the C library has no pthread_cancel; load libdrover-pthread.so.1 before it (LD_PRELOAD)\n");
		abort();
	}
	store_relaxed(&glibc_cancel, (__typeof__(&pthread_cancel))found);
}

/*
 * A thread may be cancelled asynchronously, also by itself. Not here, where it
 * takes the library's locks.
 */
static int drop_in_cancel(pthread_t thread)
{
	int state, ignored, err;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (!load_relaxed(&glibc_cancel))
		find_glibc_cancel();
	err = load_relaxed(&glibc_cancel)(thread);
	if (!err)
		cond_cancel(thread); /* a release, too: [W-SEEN] */
	pthread_setcancelstate(state, &ignored);
	return err;
}

EXPORT(pthread_cond_init, 0, drop_in_cond_init, "@@" CONDVARS);
EXPORT(pthread_cond_destroy, 0, drop_in_cond_destroy, "@@" CONDVARS);
EXPORT(pthread_cond_wait, 0, drop_in_cond_wait, "@@" CONDVARS);
EXPORT(pthread_cond_timedwait, 0, drop_in_cond_timedwait, "@@" CONDVARS);
EXPORT(pthread_cond_signal, 0, drop_in_cond_signal, "@@" CONDVARS);
EXPORT(pthread_cond_broadcast, 0, drop_in_cond_broadcast, "@@" CONDVARS);
EXPORT(pthread_cond_clockwait, 0, drop_in_cond_clockwait, "@@GLIBC_2.34");
EXPORT(pthread_cond_clockwait, 1, drop_in_cond_clockwait, "@GLIBC_2.30");
EXPORT(pthread_cancel, 0, drop_in_cancel, "@@GLIBC_2.34");
EXPORT(pthread_cancel, 1, drop_in_cancel, "@" BASE);

/*
 * ---- C11: in glibc a cnd_t is a pthread_cond_t and an mtx_t is a
 * pthread_mutex_t. Waits are cancellation points, as glibc's are. ----
 */

/*
 * Functions that return only 0, which is thrd_success, double as the C11
 * functions.
 */
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

/*
 * ---- pthread_cond_*@GLIBC_2.2.5: programs linked before glibc 2.3.2 (2002) have
 * a smaller condition variable. Its first word, zero at first, becomes a pointer
 * to a real one, allocated when it is needed. ----
 */

#ifdef __x86_64__ /* no other 64-bit port that is supported had them */

typedef _Atomic(pthread_cond_t *) old_cond;

static pthread_cond_t *real_cond(old_cond *old)
{
	pthread_cond_t *cond = load_acquire(old);
	pthread_cond_t *fresh;

	if (cond)
		return cond;
	fresh = calloc(1, sizeof(*fresh));
	if (!fresh)
		return NULL;
	/* [O-COND] Publishes the zeroes; pairs with each load_acquire() here. */
	if (cas_acq_rel(old, &cond, fresh))
		return fresh;
	free(fresh);
	return cond;
}

/* The attributes are ignored: of those that existed, none had a meaning. */
static int old_init(old_cond *old)
{
	store_relaxed(old, NULL);
	return 0;
}

static int old_destroy(old_cond *old)
{
	pthread_cond_t *cond = load_acquire(old);

	if (!cond)
		return 0;
	drop_in_cond_destroy(cond);
	free(cond);
	store_relaxed(old, NULL);
	return 0;
}

EXPORT(pthread_cond_init, old, old_init, "@GLIBC_2.2.5");
EXPORT(pthread_cond_destroy, old, old_destroy, "@GLIBC_2.2.5");

/* The same with the real condvar, which glibc's signal allocates, too. */
#define OLD_VERB(verb, parameters, ...)                                  \
	static int old_##verb parameters                                 \
	{                                                                \
		pthread_cond_t *cond = real_cond(old);                   \
                                                                         \
		return cond ? drop_in_cond_##verb(__VA_ARGS__) : ENOMEM; \
	}                                                                \
	EXPORT(pthread_cond_##verb, old, old_##verb, "@GLIBC_2.2.5")

OLD_VERB(wait, (old_cond * old, pthread_mutex_t *mutex), cond, mutex);
OLD_VERB(timedwait,
	 (old_cond * old, pthread_mutex_t *mutex, const struct timespec *at),
	 cond, mutex, at);
OLD_VERB(signal, (old_cond * old), cond);
OLD_VERB(broadcast, (old_cond * old), cond);
#endif
