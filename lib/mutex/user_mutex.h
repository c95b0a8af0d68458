/* SPDX-License-Identifier: MIT */
/*
 * The functions through which a condition variable uses its mutexes. Each
 * library has its own: drover_mutex_t (user_mutex.c) or glibc's
 * (pthread/glibc_mutex.c).
 */
#ifndef DROVER_USER_MUTEX_H
#define DROVER_USER_MUTEX_H

#include "base/lock.h"
#include "base/poll.h"

/* The holder of a mutex, as the caller finds it. */
enum mutex_holder {
	MUTEX_FREE,
	MUTEX_HELD_BY_CALLER,
	MUTEX_HELD_BY_OTHER,
};

/*
 * Is nothing special about the mutex? Then user_mutex_prepare() would return 0
 * and change nothing, and need not be called.
 */
bool user_mutex_is_plain(void *mutex);

/**
 * user_mutex_prepare() - prepare a wait
 * @mutex: the mutex
 * @movable: set to NULL if the caller has locked @mutex more than once. It then
 *	     sleeps as the holder: no thread may be moved there, least of all the
 *	     caller.
 * @pi_word: set to the lock word if the kernel can hand the mutex over
 *	     (requeue-PI); @movable stays then
 *
 * Return: 0, or EPERM if an unlock by the caller would be refused. This has to
 * be known before: once the caller has joined a group, a signal or broadcast
 * can reach it.
 */
int user_mutex_prepare(void *mutex, void **movable, futex_word **pi_word);

/* Return: 0 or an errno value. */
int user_mutex_unlock(void *mutex);

/*
 * Take the mutex. @moved: the caller may have slept on the mutex without the
 * mutex's knowledge, and other threads may still sleep there. The caller has
 * the duty "woken" of the table in cond/cond.h: it leaves the mutex contended.
 * Return: 0 or an errno value.
 */
int user_mutex_lock(void *mutex, bool moved);

/*
 * Take the mutex if it is free. For poll_before_sleep(). Not for a mutex to
 * which no thread is moved.
 */
bool user_mutex_poll(void *mutex);

/*
 * Return: the holder. A blocked waiter uses @mutex. @word: where its sleepers
 * wait, or NULL if waiters cannot be moved there.
 */
enum mutex_holder user_mutex_holder(void *mutex, futex_word **word);

/*
 * The caller's thread ends, perhaps as it takes or releases the mutex: take it
 * unless the caller has it. It is left contended, for a wake-up on the mutex may
 * have come to the caller, or the caller may have been about to make one.
 */
void user_mutex_regain(void *mutex);

/*
 * The kernel has handed the mutex over to the caller: make it look as if the
 * caller had locked it. Return: 0, or the result that a lock would have had;
 * ENOTRECOVERABLE: the caller does not hold it.
 */
int user_mutex_adopt(void *mutex);

/* May a cancellation act on the caller, which was interrupted? */
bool cancellation_is_due(void);

#endif /* DROVER_USER_MUTEX_H */
