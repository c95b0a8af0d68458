// SPDX-License-Identifier: MIT
/* The library's lock when it is contended. */
#include "base/lock.h"

/*
 * The word still has the id of a thread that no longer exists, or, which only
 * a lock of several processes can meet, of one that died and had our id.
 * Return: whether we are the one that takes over.
 */
static bool take_over(futex_word *lock, uint32_t seen, uint32_t tid)
{
	return cas_acquire(lock, &seen, tid | (seen & FUTEX_WAITERS));
}

/* The kernel gave us the lock. Return: false if its holder has died. */
static bool was_handed_over(futex_word *lock)
{
	uint32_t word = load_acquire(lock);

	if (!(word & FUTEX_OWNER_DIED))
		return true;
	/* The other bits may be changed by threads that go to sleep. */
	atomic_fetch_and_explicit(lock, ~(uint32_t)FUTEX_OWNER_DIED,
				  memory_order_relaxed);
	return false;
}

bool lock_sleep(futex_word *lock, uint32_t tid, bool shared)
{
	uint32_t seen;

	for (int i = 0; i < LOCK_SPINS; i++) {
		cpu_relax();
		seen = 0;
		if (load_relaxed(lock) == 0 && cas_acquire(lock, &seen, tid))
			return true;
	}
	for (unsigned int i = 0;; i++) {
		long ret;

		seen = 0;
		if (cas_acquire(lock, &seen, tid))
			return true;
		ret = futex_lock_pi(lock, NULL, shared);
		if (ret == 0)
			return was_handed_over(lock);
		if ((ret == -ESRCH || (ret == -EDEADLK && shared)) &&
		    take_over(lock, seen, tid))
			return false;
		/*
		 * A holder that is just exiting; or a kernel without PI
		 * futexes, or a sandbox: then nobody sleeps here at all, and
		 * nobody lends the holder a priority to run with.
		 */
		waiter_give_way(i);
	}
}

void lock_drop_contended(futex_word *lock, bool shared)
{
	/* The kernel hands over; for ThreadSanitizer, which can't see that. */
	atomic_fetch_or_explicit(lock, 0, memory_order_release);
	if (futex_unlock_pi(lock, shared) < 0)
		store_release(lock, 0);
}
