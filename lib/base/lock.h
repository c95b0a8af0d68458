/* SPDX-License-Identifier: MIT */
/*
 * The lock inside the library: a three-state futex lock (U. Drepper, "Futexes
 * Are Tricky", "Mutex, Take 2"). Sections under it are a few dozen
 * instructions; the longest is a walk over the registered threads. The word of
 * a drover_mutex_t that is no PI futex goes through the same steps.
 *
 * [L-PASS] The next holder reads what the last one has written:
 *
 *   CPU 0                              CPU 1
 *   lock_drop()                        lock_take()
 *
 *     writes what is guarded
 *     swap_release(word, FREE); (A) <-.
 *                                     |
 *                                     `-> cas_acquire(word, HELD); (B)
 *                                         reads what is guarded
 *
 * (A) pairs with (B). Impossible: (B) finds the FREE of (A), and CPU 1 reads
 * what was there before CPU 0 wrote.
 *
 * [L-SLEEP] A thread falls asleep while another one unlocks:
 *
 *   CPU 0                              CPU 1
 *   lock_drop()                        lock_sleep()
 *
 *                                        swap_acquire(word, CONTENDED); (A)
 *                                        FUTEX_WAIT(word, CONTENDED):
 *                                          lock(bucket);
 *     old = swap_release(word, FREE); (B)  if (word != CONTENDED) (C)
 *     if (old == CONTENDED)                  return -EAGAIN;
 *       FUTEX_WAKE(word):                  queue CPU 1
 *         lock(bucket); (D)                unlock(bucket);
 *         wake one of the queue            sleep
 *         unlock(bucket);
 *
 * (A) and (B) change one word, each in one step, so the later one finds what
 * the earlier one wrote. If (B) is later, it finds CONTENDED, and CPU 0 wakes.
 * If (A) is later, it finds FREE, and CPU 1 has the lock; or it finds the value
 * of another holder, whose unlock is (B) again. Where CPU 0 wakes, there are
 * two cases. If (D) comes after CPU 1 is queued, CPU 1 is woken. If (D) comes
 * before, (C) finds FREE, or the value of another holder, as above. Impossible:
 * the word is FREE, CPU 1 sleeps, and no thread is about to wake it.
 *
 * A thread that has slept takes the lock by (A), so the word stays CONTENDED:
 * it cannot know whether others still sleep.
 *
 * Once a mutex that inherits priorities has been used (lock_use_pi()), a thread
 * that takes a lock takes a PI futex before the word. So it lends its priority
 * to the thread that has both. The word alone excludes, as threads that were on
 * their way at that time do not take the PI futex.
 *
 * The unlocking thread may wake sleepers at an address that the next holder
 * has freed; that is harmless. lock_settle() waits until that thread writes no
 * more.
 */
#ifndef DROVER_LOCK_H
#define DROVER_LOCK_H

#include "base/atomic.h"
#include "base/futex.h"

/**
 * struct lock - a lock of one process; all zero bytes are an unlocked lock
 * @pi: 0, or in the kernel's format the thread that has @word, or is about to
 *	take it
 * @word: enum lock_word
 */
struct lock {
	futex_word pi;
	futex_word word;
};

/* The C library's mutexes and drover_mutex_t have these states, too. */
enum lock_word {
	LOCK_FREE,
	LOCK_HELD,
	LOCK_CONTENDED, /* held, and there may be sleepers: wake one at unlock */
};

/* Make the unlock of the holder wake a sleeper. The caller is the holder. */
static inline void lock_set_contended(futex_word *word)
{
	uint32_t held = LOCK_HELD;

	cas_relaxed(word, &held, LOCK_CONTENDED);
}

/* Set by lock_use_pi(), and never cleared. */
extern atomic_bool lock_pi_used;

/* The slow ways, in lock.c. */
COLD void lock_pi_take(struct lock *l);
COLD bool lock_pi_mine(struct lock *l);
COLD void lock_pi_drop(struct lock *l);
COLD void lock_sleep(struct lock *l);

static inline void lock_take(struct lock *l)
{
	uint32_t old = LOCK_FREE;

	if (unlikely(load_relaxed(&lock_pi_used)))
		lock_pi_take(l);
	if (unlikely(!cas_acquire(&l->word, &old, LOCK_HELD)))
		lock_sleep(l);
}

static inline void lock_drop(struct lock *l)
{
	/* Asked first: without the PI futex, the memory may be gone later. */
	bool pi = unlikely(load_relaxed(&lock_pi_used)) && lock_pi_mine(l);

	if (unlikely(swap_release(&l->word, LOCK_FREE) == LOCK_CONTENDED))
		futex_wake(&l->word, 1, false);
	if (unlikely(pi))
		lock_pi_drop(l);
}

/* Wait until the holder before the caller no longer touches the lock. */
static inline void lock_settle(struct lock *l)
{
	if (unlikely(load_relaxed(&lock_pi_used))) {
		lock_pi_take(l);
		lock_pi_drop(l);
	}
}

/* From now on a mutex that inherits priorities is in use. */
static inline void lock_use_pi(void)
{
	if (!load_relaxed(&lock_pi_used))
		store_seq_cst(&lock_pi_used, true);
}

#endif /* DROVER_LOCK_H */
