/* SPDX-License-Identifier: MIT */
/*
 * What a condition variable asks of the mutexes used with it. Each library has
 * its own: drover_mutex_t (user_mutex.c) or glibc's (pthread/glibc_mutex.c).
 */
#ifndef DROVER_USER_MUTEX_H
#define DROVER_USER_MUTEX_H

#include "base/lock.h"
#include "base/poll.h"

/* How the caller finds a mutex. */
enum mutex_holder {
	MUTEX_FREE,
	MUTEX_HELD_BY_CALLER,
	MUTEX_HELD_BY_OTHER,
};

/*
 * Nothing is special about it: user_mutex_prepare() would say 0, and change
 * nothing. What it is asked before.
 */
bool user_mutex_is_plain(void *mutex);

/**
 * user_mutex_prepare() - before a wait
 * @mutex: the mutex
 * @movable: set to NULL if the caller has locked it more than once, so it sleeps
 *	     as the holder: nobody may be moved there, least of all the caller
 * @pi_word: set to the lock word if the kernel can hand the mutex over
 *	     (requeue-PI), and @movable stays
 *
 * Return: 0, or EPERM if its unlock will refuse the caller. Asked first: once
 * the caller has joined a group, a signal or broadcast can reach it.
 */
int user_mutex_prepare(void *mutex, void **movable, futex_word **pi_word);

/* Return: 0 or an errno value. */
int user_mutex_unlock(void *mutex);

/*
 * Take it; 0 or an errno value. @moved: the caller may have slept on the mutex
 * without the mutex's knowledge, and others may still sleep there. It has the
 * duty "woken" of the table in cond/cond.h: the mutex is left contended.
 */
int user_mutex_lock(void *mutex, bool moved);

/*
 * Take it if it is free. For poll_before_sleep(); not for a mutex that nobody is
 * moved to.
 */
bool user_mutex_poll(void *mutex);

/*
 * Who has it. @mutex is in use by a blocked waiter. @word: where its sleepers
 * wait, or NULL if waiters cannot be moved there.
 */
enum mutex_holder user_mutex_holder(void *mutex, futex_word **word);

/*
 * The caller's thread ends, perhaps as it takes or releases the mutex: take it
 * unless the caller has it.
 */
static inline void user_mutex_regain(void *mutex, bool moved)
{
	futex_word *word;

	if (user_mutex_holder(mutex, &word) != MUTEX_HELD_BY_CALLER)
		user_mutex_lock(mutex, moved);
}

/*
 * The kernel has handed the mutex over to the caller: make it look as if the
 * caller had locked it. 0 or what locking it would have returned;
 * ENOTRECOVERABLE: it is not held.
 */
int user_mutex_adopt(void *mutex);

/* May a cancellation act on the caller, who was interrupted? */
bool cancellation_is_due(void);

#endif /* DROVER_USER_MUTEX_H */
