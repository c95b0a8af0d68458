// SPDX-License-Identifier: MIT
/*
 * drover_mutex_t with priority inheritance, and robust ones: the kernel's PI
 * futex. The kernel knows who holds it, so it also finds out that the holder is
 * dead.
 */
#include "base/pause.h"
#include "mutex/mutex.h"

int user_mutex_adopt(void *mutex)
{
	struct mutex *m = mutex;
	bool died = load_acquire(&m->word) & FUTEX_OWNER_DIED;

	if (died) {
		and_relaxed(&m->word, ~(uint32_t)FUTEX_OWNER_DIED);
		if (m->health == MUTEX_SOUND)
			m->health = MUTEX_INCONSISTENT;
	}
	store_relaxed(&m->owner, thread_tid());
	m->count = 0;
	if (m->health == MUTEX_LOST) {
		mutex_pi_unlock(m);
		return ENOTRECOVERABLE;
	}
	return m->health == MUTEX_INCONSISTENT ? EOWNERDEAD : 0;
}

int mutex_pi_try(struct mutex *m)
{
	uint32_t old = 0;

	if (!cas_acquire(&m->word, &old, thread_tid()))
		return EBUSY;
	return user_mutex_adopt(m);
}

/* drover/mutex.h promises such a thread a wait for ever, or until its deadline. */
static int wait_in_vain(const struct deadline *deadline)
{
	futex_word never = 0;

	while (futex_wait(&never, 0, deadline, false) != -ETIMEDOUT)
		;
	return ETIMEDOUT;
}

/*
 * The holder ended without unlocking, and no thread waited for it in the
 * kernel; otherwise the kernel would have handed the mutex on. Return: EAGAIN
 * if another thread has taken over meanwhile.
 */
static int take_over(struct mutex *m, uint32_t seen)
{
	uint32_t mine = thread_tid() | FUTEX_OWNER_DIED;

	if (!cas_acquire(&m->word, &seen, mine | (seen & FUTEX_WAITERS)))
		return EAGAIN;
	return user_mutex_adopt(m);
}

/* @seen: the word, as it was some time before the kernel refused with @err. */
static int lock_refused(struct mutex *m, int err, uint32_t seen,
			const struct deadline *deadline)
{
	bool robust = m->flags & DROVER_MUTEX_ROBUST;

	if (err == ESRCH && robust)
		return take_over(m, seen);
	if (err == ESRCH || err == EDEADLK)
		return wait_in_vain(deadline);
	/*
	 * The holder has died, and the thread that its death woke has not run
	 * yet. That thread may have a lower priority, and need this CPU: sleep.
	 */
	if (err == EINVAL && robust) {
		if (time_left(deadline) <= 0)
			return ETIMEDOUT;
		thread_pause(UINT_MAX);
		return EAGAIN;
	}
	return err == EINTR ? EAGAIN : err;
}

int mutex_pi_lock(struct mutex *m, const struct deadline *deadline)
{
	int err;

	do {
		uint32_t seen = load_relaxed(&m->word);
		long ret;

		err = mutex_pi_try(m);
		if (err != EBUSY)
			return err;
		ret = futex_lock_pi(&m->word, deadline, mutex_is_shared(m));
		if (ret == 0)
			return user_mutex_adopt(m);
		err = lock_refused(m, (int)-ret, seen, deadline);
	} while (err == EAGAIN);
	return err;
}

void mutex_pi_unlock(struct mutex *m)
{
	uint32_t tid = thread_tid();

	if (m->health == MUTEX_INCONSISTENT)
		m->health = MUTEX_LOST;
	store_relaxed(&m->owner, 0);
	if (cas_release(&m->word, &tid, 0))
		return;
	/* The kernel hands over; for ThreadSanitizer, which can't see that. */
	atomic_fetch_or_explicit(&m->word, 0, memory_order_release);
	if (futex_unlock_pi(&m->word, mutex_is_shared(m)) < 0)
		store_release(&m->word, 0);
}
