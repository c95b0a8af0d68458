// SPDX-License-Identifier: MIT
/* drover_mutex_t as the condition variable uses it. */
#include "mutex/mutex.h"

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

	/*
	 * The duty "woken", cond/cond.h. The other kinds of mutex come here,
	 * too: a shared condvar that moved its waiters once may be used with
	 * them later.
	 */
	if (moved && !mutex_is_pi(m) && !mutex_held_by_caller(m))
		return mutex_take_contended(m, NULL);
	return mutex_lock_slow(m, NULL, false);
}

void user_mutex_regain(void *mutex)
{
	struct mutex *m = mutex;
	bool pi = mutex_is_pi(m);

	if (!mutex_held_by_caller(m)) {
		/* The kernel may just have handed it over. */
		if (pi &&
		    (load_relaxed(&m->word) & FUTEX_TID_MASK) == thread_tid())
			user_mutex_adopt(m);
		else
			user_mutex_lock(m, true);
	} else if (!pi) {
		lock_set_contended(&m->word);
	}
}

enum mutex_holder user_mutex_holder(void *mutex, futex_word **word)
{
	struct mutex *m = mutex;

	/* Waiters of a private condvar sleep on a private futex. */
	*word = mutex_is_pi(m) || mutex_is_shared(m) ? NULL : &m->word;
	if (load_relaxed(&m->word) == LOCK_FREE)
		return MUTEX_FREE;
	return mutex_held_by_caller(m) ? MUTEX_HELD_BY_CALLER :
					 MUTEX_HELD_BY_OTHER;
}

bool cancellation_is_due(void)
{
	return false;
}
