// SPDX-License-Identifier: MIT
/* The slow ways of the library's lock, and its PI futex. */
#include "base/lock.h"
#include "base/poll.h"
#include "base/thread.h"

atomic_bool lock_pi_used;

static bool poll_lock(void *lock)
{
	struct lock *l = lock;
	uint32_t old = load_relaxed(&l->word);

	return old == LOCK_FREE && cas_acquire(&l->word, &old, LOCK_HELD);
}

void lock_sleep(struct lock *l)
{
	if (poll_before_sleep(&thread_this.for_locks, poll_lock, l, INT64_MAX))
		return;
	while (swap_acquire(&l->word, LOCK_CONTENDED) != LOCK_FREE)
		sleep_on(&l->word, LOCK_CONTENDED, NULL, false,
			 FUTEX_BITSET_MATCH_ANY, &thread_this.for_locks);
}

void lock_pi_take(struct lock *l)
{
	uint32_t old = 0;

	if (cas_relaxed(&l->pi, &old, thread_tid()))
		return;
	/*
	 * The kernel has refused, or the holder of the PI futex has gone. No
	 * priority is lent then, and the word excludes all the same.
	 */
	while (futex_lock_pi(&l->pi, NULL, false) == -EINTR)
		;
}

/* Not so if the caller took the lock before lock_use_pi(). */
bool lock_pi_mine(struct lock *l)
{
	return (load_relaxed(&l->pi) & FUTEX_TID_MASK) == thread_tid();
}

void lock_pi_drop(struct lock *l)
{
	uint32_t tid = thread_tid();

	if (!cas_relaxed(&l->pi, &tid, 0))
		futex_unlock_pi(&l->pi, false);
}
