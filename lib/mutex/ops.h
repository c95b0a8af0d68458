/* SPDX-License-Identifier: MIT */
/*
 * What a condition variable asks of the mutexes used with it. One
 * implementation serves drover_mutex_t (cond/native.c) and glibc's mutexes
 * (pthread/glibc_mutex.c).
 */
#ifndef DROVER_MUTEX_OPS_H
#define DROVER_MUTEX_OPS_H

#include "base/futex.h"

/*
 * The states of a mutex's futex word to which waiters can be moved: glibc's and
 * drover_mutex_t's are alike (U. Drepper, "Futexes Are Tricky", section "Mutex,
 * Take 2"). Only in the last one does an unlock wake a sleeper.
 */
enum mutex_word {
	WORD_FREE,
	WORD_LOCKED,
	WORD_CONTENDED,
};

/* How the caller finds a mutex. */
enum mutex_holder {
	MUTEX_FREE,
	MUTEX_HELD_BY_CALLER,
	MUTEX_HELD_BY_OTHER,
};

/**
 * struct mutex_ops - the mutexes of one library
 * @is_plain: nothing is special about it: @may_wait would say 0, @stays_held
 *	      false, and @pi_word NULL. What it is asked before them.
 * @may_wait: 0, or EPERM if @unlock will refuse the caller. Asked first: once
 *	      it has joined a group, a signal or broadcast can reach it.
 * @stays_held: the caller has locked it more than once, so it sleeps as the
 *		holder: nobody may be moved there, least of all the caller
 * @unlock: release a held mutex; 0 or an errno value
 * @unlock_plain: the same for a plain one that the caller does hold
 * @try_lock: take a mutex that has a @word, if that is free; else false. The
 *	      caller does not hold it.
 * @lock: take the mutex, 0 or an errno value. @moved: the thread may have
 *	  slept on the mutex without the mutex's knowledge, so others may
 *	  still: it has to be left contended.
 * @word: where the mutex's sleepers wait, or NULL if waiters cannot be moved
 *	  there. @mutex is in use by a blocked waiter.
 * @holder: who has the mutex; same condition. A guess if @word is NULL.
 * @set_contended: the caller holds the mutex: make its unlock wake a sleeper
 * @pass_wake: wake one thread that sleeps on the mutex
 * @interruptible: a cancellation is pending and may act on the caller; NULL if
 *		   waits are no cancellation points
 * @pi_word: the lock word if the kernel can hand the mutex over (requeue-PI),
 *	     or NULL
 * @adopt: the kernel has handed the mutex over to the caller: make it look as
 *	   if the caller had locked it. 0 or what @lock would have returned;
 *	   ENOTRECOVERABLE: the mutex is not held.
 */
struct mutex_ops {
	bool (*is_plain)(void *mutex);
	int (*may_wait)(void *mutex);
	bool (*stays_held)(void *mutex);
	int (*unlock)(void *mutex);
	int (*unlock_plain)(void *mutex);
	bool (*try_lock)(void *mutex);
	int (*lock)(void *mutex, bool moved);
	futex_word *(*word)(void *mutex);
	enum mutex_holder (*holder)(void *mutex);
	void (*set_contended)(void *mutex);
	void (*pass_wake)(void *mutex);
	bool (*interruptible)(void);
	futex_word *(*pi_word)(void *mutex);
	int (*adopt)(void *mutex);
};

#endif /* DROVER_MUTEX_OPS_H */
