/* SPDX-License-Identifier: MIT */
/*
 * What the library keeps for each thread: its ids, its accounts, and where
 * others find it once it has waited.
 *
 * A thread is known by four ids, and a mutex holds one of three of them, in its
 * futex word or as its owner:
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
 *	It is the owner of a mutex of the C library's: most often the tid, but
 *	not in a thread that clone() has made.
 *
 *   pthread_t	the C library	the same
 *
 *	pthread_cancel() is given it, so the registry of waiters (base/waiter.h)
 *	has it as its key.
 */
#ifndef DROVER_THREAD_H
#define DROVER_THREAD_H

#include "base/poll.h"

struct waiter;

/**
 * struct thread - a thread, in its own memory
 * @tid: kernel thread id, or 0 before thread_setup()
 * @number: unlike any other thread's of this process, or 0 before thread_setup()
 * @libc_id: by which the C library's mutexes know it, or 0: not asked for yet,
 *	     or not since a fork
 * @waiter: what others may see of it, or NULL if it has never waited
 * @for_signals: what it may spend on polling for a signal
 * @for_mutexes: the same for a mutex
 * @for_locks: the same for the library's own locks
 * @for_barriers, @for_streams: the same for phases, and for operations
 */
struct thread {
	uint32_t tid;
	uint32_t number;
	uint32_t libc_id;
	struct waiter *waiter;
	struct poll_account for_signals;
	struct poll_account for_mutexes;
	struct poll_account for_locks;
	struct poll_account for_barriers;
	struct poll_account for_streams;
};

extern _Thread_local struct thread thread_this;

COLD void thread_setup(void);

static inline struct thread *thread_self(void)
{
	if (unlikely(!thread_this.tid))
		thread_setup();
	return &thread_this;
}

#define thread_tid() (thread_self()->tid)

/* In the child of a fork: the caller's ids that are not the parent's. */
void thread_after_fork(void);

#endif /* DROVER_THREAD_H */
