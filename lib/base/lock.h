/* SPDX-License-Identifier: MIT */
/*
 * The lock inside the library: a three-state futex lock (U. Drepper, "Futexes
 * Are Tricky", "Mutex, Take 2"). Sections under it are a few dozen
 * instructions; the longest is a walk over the registered threads.
 *
 * From the first mutex that inherits priorities on (lock_use_pi()) who takes a
 * lock takes a PI futex before the word, and lends its priority to the thread
 * that has both. The word alone excludes: threads that were on their way before
 * do not take the PI futex.
 *
 * The unlocking thread may wake sleepers at an address that the next holder
 * has freed; that is harmless. lock_settle() waits until it writes no more.
 */
#ifndef DROVER_LOCK_H
#define DROVER_LOCK_H

#include "base/atomic.h"
#include "base/futex.h"

/**
 * struct lock - a lock of one process; all zero bytes are an unlocked one
 * @pi: 0, or in the kernel's format the thread that has, or goes for, @word
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

/* Make the unlock of the holder, which the caller is, wake a sleeper. */
static inline void lock_set_contended(futex_word *word)
{
	uint32_t held = LOCK_HELD;

	cas_relaxed(word, &held, LOCK_CONTENDED);
}

/* Set by lock_use_pi(), and never cleared. */
extern atomic_bool lock_pi_used;

/* The slow ways; lock.c. */
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
	/* Asked before: without the PI futex the memory may be gone then. */
	bool pi = unlikely(load_relaxed(&lock_pi_used)) && lock_pi_mine(l);

	if (unlikely(swap_release(&l->word, LOCK_FREE) == LOCK_CONTENDED))
		futex_wake(&l->word, 1, false);
	if (unlikely(pi))
		lock_pi_drop(l);
}

/* Whoever had it before the caller had it touches it no more. */
static inline void lock_settle(struct lock *l)
{
	if (unlikely(load_relaxed(&lock_pi_used))) {
		lock_pi_take(l);
		lock_pi_drop(l);
	}
}

/* A mutex that inherits priorities is in use from now on. */
static inline void lock_use_pi(void)
{
	if (!load_relaxed(&lock_pi_used))
		store_seq_cst(&lock_pi_used, true);
}

#endif /* DROVER_LOCK_H */
