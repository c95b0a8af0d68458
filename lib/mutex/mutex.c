// SPDX-License-Identifier: MIT
/* drover_mutex_t: a three-state futex lock, its owner, and its attributes. */
#include <drover/mutex.h>
#include <string.h>

#include "mutex/mutex.h"

_Static_assert(sizeof(struct mutex) <= sizeof(drover_mutex_t), "fits");
_Static_assert(_Alignof(struct mutex) <= _Alignof(drover_mutex_t), "fits");

#define MUTEX_TWICE (DROVER_MUTEX_RECURSIVE | DROVER_MUTEX_ERRORCHECK)

/*
 * The caller may hold @m already. Return: 0 if it has locked @m once more now;
 * EDEADLK or EAGAIN as drover_mutex_lock(); EBUSY if the caller has to wait, as
 * another thread holds @m, or as @m is neither recursive nor error-checking.
 */
static int take_again(struct mutex *m)
{
	if (!(m->flags & MUTEX_TWICE) || !mutex_held_by_caller(m))
		return EBUSY;
	if (m->flags & DROVER_MUTEX_ERRORCHECK)
		return EDEADLK;
	if (m->count == UINT32_MAX)
		return EAGAIN;
	m->count++;
	return 0;
}

/* Is nothing special about the mutex, and has the caller locked it once? */
inline bool user_mutex_is_plain(void *mutex)
{
	struct mutex *m = mutex;
	uint32_t owner = load_relaxed(&m->owner);

	/* A thread that has not been set up holds nothing; its number is 0. */
	return !m->flags && !m->count && owner && owner == thread_this.number;
}

/* Return: EBUSY if another thread holds @m. */
static inline int take_now(struct mutex *m)
{
	int err = EBUSY;

	if (mutex_is_pi(m))
		err = mutex_pi_try(m);
	else if (mutex_take_free(m, mutex_owner_id(m)))
		return 0;
	return err == EBUSY ? take_again(m) : err;
}

int mutex_take_contended(struct mutex *m, const struct deadline *deadline)
{
	while (swap_acquire(&m->word, LOCK_CONTENDED) != LOCK_FREE) {
		if (sleep_on(&m->word, LOCK_CONTENDED, deadline,
			     mutex_is_shared(m), FUTEX_BITSET_MATCH_ANY,
			     &thread_this.for_mutexes) == -ETIMEDOUT)
			return ETIMEDOUT;
	}
	store_relaxed(&m->owner, mutex_owner_id(m));
	return 0;
}

bool user_mutex_poll(void *mutex)
{
	struct mutex *m = mutex;

	return load_relaxed(&m->word) == LOCK_FREE &&
	       mutex_take_free(m, mutex_owner_id(m));
}

int mutex_lock_slow(struct mutex *m, const struct deadline *deadline,
		    bool polls)
{
	int err = take_now(m);

	if (err != EBUSY)
		return err;
	if (deadline && !deadline_valid(deadline))
		return EINVAL;
	if (mutex_is_pi(m))
		return mutex_pi_lock(m, deadline);
	if (polls && poll_before_sleep(&thread_this.for_mutexes,
				       user_mutex_poll, m, INT64_MAX))
		return 0;
	return mutex_take_contended(m, deadline);
}

int drover_mutex_init(drover_mutex_t *mutex, const drover_mutexattr_t *attr)
{
	uint32_t flags = attr ? attr->flags : 0;
	futex_word word = 0;

	if (flags & ~MUTEX_FLAGS || (flags & MUTEX_TWICE) == MUTEX_TWICE)
		return EINVAL;
	/*
	 * The caller does not hold it, so a kernel with PI futexes answers
	 * EPERM.
	 */
	if (flags & (DROVER_MUTEX_PI | DROVER_MUTEX_ROBUST) &&
	    futex_unlock_pi(&word, false) != -EPERM)
		return ENOTSUP;
	debug_pointer(mutex, _Alignof(struct mutex), "mutex", __func__);
	memset(mutex, 0, sizeof(*mutex));
	((struct mutex *)mutex)->flags = flags;
	return 0;
}

int drover_mutex_destroy(drover_mutex_t *mutex)
{
	struct mutex *m = mutex_of(mutex);

	if (load_relaxed(&m->word) != LOCK_FREE)
		return EBUSY;
	if (DEBUG_BUILD)
		m->flags = DEBUG_DESTROYED;
	return 0;
}

int drover_mutex_trylock(drover_mutex_t *mutex)
{
	struct mutex *m = mutex_of(mutex);
	int err = take_now(m);

	/* Only the kernel knows if the holder is dead. The deadline is past. */
	if (err == EBUSY && m->flags & DROVER_MUTEX_ROBUST)
		err = mutex_pi_lock(m, &(struct deadline){ 0 });
	if (err && err != EAGAIN && err != EOWNERDEAD && err != ENOTRECOVERABLE)
		err = EBUSY;
	return err;
}

ONE_LINE int drover_mutex_lock(drover_mutex_t *mutex)
{
	struct mutex *m = mutex_of(mutex);
	uint32_t caller = thread_this.number;

	if (likely(caller && !m->flags) && likely(mutex_take_plain(m, caller)))
		return 0;
	return mutex_lock_slow(m, NULL, true);
}

/* It does not poll: the deadline may be near. */
int drover_mutex_timedlock(drover_mutex_t *mutex, clockid_t clock,
			   const struct timespec *deadline)
{
	struct deadline d = deadline_of(clock, deadline);

	return mutex_lock_slow(mutex_of(mutex), &d, false);
}

APART static int unlock_in_some_way(struct mutex *m)
{
	if (!mutex_held_by_caller(m))
		return EPERM;
	if (m->count)
		m->count--;
	else if (mutex_is_pi(m))
		mutex_pi_unlock(m);
	else
		mutex_drop(m, mutex_is_shared(m));
	return 0;
}

ONE_LINE int drover_mutex_unlock(drover_mutex_t *mutex)
{
	struct mutex *m = mutex_of(mutex);

	if (unlikely(!user_mutex_is_plain(m)))
		return unlock_in_some_way(m);
	mutex_drop_plain(m);
	return 0;
}

int drover_mutex_consistent(drover_mutex_t *mutex)
{
	struct mutex *m = mutex_of(mutex);

	if (!mutex_held_by_caller(m) || m->health != MUTEX_INCONSISTENT)
		return EINVAL;
	m->health = MUTEX_SOUND;
	return 0;
}
