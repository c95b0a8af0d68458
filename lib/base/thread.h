/* SPDX-License-Identifier: MIT */
/*
 * The data that the library keeps for each thread: its ids, its accounts, and
 * the part that other threads find once it has waited.
 *
 * A thread is known by four ids. A mutex holds one of the first three of them,
 * in its futex word or as its owner:
 *
 *   id		given by	in the child of a fork
 *
 *   tid	the kernel	another one, so these mutexes stay the parent's
 *
 *	It is in the words of PI futexes: struct lock::pi, and the word of a
 *	drover_mutex_t that inherits priorities or is robust. It is the owner of
 *	such a mutex, and of a shared one.
 *
 *   number	thread_setup()	the same, so the child has these mutexes, too
 *
 *	It is the owner of any other drover_mutex_t, whose word says only that
 *	it is held. It chooses struct waiter::bit.
 *
 *   libc_id	the C library	asked for again
 *
 *	It is the owner of a mutex of the C library's. It is most often the tid,
 *	but not in a thread that clone() has made.
 *
 *   pthread_t	the C library	the same
 *
 *	pthread_cancel() is called with it, so it is the key of the registry of
 *	waiters (base/waiter.h).
 */
#ifndef DROVER_THREAD_H
#define DROVER_THREAD_H

#include "base/fork.h"
#include "base/poll.h"

/**
 * struct thread - a thread, in its own memory
 * @generation: the fork_generation() in which the thread was set up, or 0. In
 *		any other generation only @number is right.
 * @number: a number that no other thread of this process has; 0 before
 *	    thread_setup()
 * @tid: kernel thread id
 * @libc_id: the id by which the C library's mutexes know the thread; 0: not
 *	     asked for yet
 * @waiter: the part that other threads may see, or NULL if it has never waited
 * @for_signals: the thread's account for polling for a signal
 * @for_mutexes: the account for polling for a mutex
 * @for_locks: the account for polling for the library's own locks
 * @for_barriers, @for_streams: the accounts for polling for the phases of
 *				barriers, and for the operations of streams
 */
struct thread {
	uint32_t generation;
	uint32_t number;
	uint32_t tid;
	uint32_t libc_id;
	struct waiter *waiter;
	struct poll_account for_signals;
	struct poll_account for_mutexes;
	struct poll_account for_locks;
	struct poll_account for_barriers;
	struct poll_account for_streams;
};

extern _Thread_local struct thread thread_this;

/* Set up the calling thread for this process. Return: as thread_self(). */
COLD struct thread *thread_setup(void);

#define thread_self()                                                         \
	(likely(thread_this.generation == fork_generation()) ? &thread_this : \
							       thread_setup())
#define thread_tid() (thread_self()->tid)

#endif /* DROVER_THREAD_H */
