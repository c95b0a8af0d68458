/* SPDX-License-Identifier: MIT */
/*
 * The lock inside the library. Its word is 0 or the thread id of the holder,
 * in the format of the kernel's PI futexes, so a waiting real-time thread lends
 * its priority to the holder, and a holder that has died is found out.
 *
 * Nearly all sections under it are a few dozen instructions without a system
 * call, so a short spin usually sees it freed. The exceptions: the growth of the
 * spare groups, a cancellation's wake-up, and a shared condvar that moves its
 * waiters, or whose destroy is waiting.
 *
 * The unlocking thread touches the word once, in one atomic step; if threads
 * are asleep the kernel does it. So the thread that locks next may free the
 * memory at once.
 */
#ifndef DROVER_LOCK_H
#define DROVER_LOCK_H

#include "base/futex.h"
#include "cond/waiter.h"

/* How often a held lock is looked at before its waiter goes to sleep. */
#define LOCK_SPINS 40

/* The slow ways; lock.c. */
COLD bool lock_sleep(futex_word *lock, uint32_t tid, bool shared);
COLD void lock_drop_contended(futex_word *lock, bool shared);

static inline bool lock_take_as(futex_word *lock, uint32_t tid, bool shared)
{
	uint32_t old = 0;

	if (likely(cas_acquire(lock, &old, tid)))
		return true;
	return lock_sleep(lock, tid, shared);
}

/**
 * lock_take() - take a lock
 * @lock: the lock
 * @shared: used by several processes
 *
 * Return: true, or false if the holder has died and what the lock guards may
 * be half changed. The caller has the lock in both cases.
 */
static inline bool lock_take(futex_word *lock, bool shared)
{
	return lock_take_as(lock, thread_tid(), shared);
}

/* The same, by a thread that has another lock. */
static inline bool lock_take_second(futex_word *lock, bool shared)
{
	return lock_take_as(lock, thread_tid_known(), shared);
}

static inline void lock_drop(futex_word *lock, bool shared)
{
	uint32_t tid = thread_tid_known();

	if (unlikely(!cas_release(lock, &tid, 0)))
		lock_drop_contended(lock, shared);
}

#endif /* DROVER_LOCK_H */
