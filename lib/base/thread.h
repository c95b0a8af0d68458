/* SPDX-License-Identifier: MIT */
/*
 * What the library keeps for each thread: its ids, its accounts, and where
 * others find it once it has waited.
 *
 * A thread is known by four ids, and the words of mutexes hold three of them:
 *
 *   id		given by	who knows the thread by it, and in the child
 *				of a fork
 *
 *   tid	the kernel	the kernel's PI futexes: struct lock::pi, and
 *				the word of a drover_mutex_t that inherits
 *				priorities or is robust; also the owner of such
 *				a mutex and of a shared one. The child gets
 *				another one, so those mutexes stay the parent's.
 *   number	thread_setup()	the owner of any other drover_mutex_t, and the
 *				choice of struct waiter::bit. The child keeps
 *				it, and so the mutexes that it held.
 *   libc_id	the C library	the owner in the C library's own mutexes: most
 *				often the tid, but not in a thread that clone()
 *				has made. The child asks again.
 *   pthread_t	the C library	pthread_cancel(), and so the registry of
 *				waiters (base/waiter.h). The child keeps it.
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
