/* SPDX-License-Identifier: MIT */
/*
 * What the library keeps for each thread: its ids, its accounts, and, once it
 * has waited, a spare group and where a cancellation finds it.
 */
#ifndef DROVER_THREAD_H
#define DROVER_THREAD_H

#include <pthread.h>

#include "base/linger.h"
#include "base/lock.h"

struct group;
struct waiter;

/**
 * struct thread - a thread, in its own memory
 * @tid: kernel thread id; another one in the child of a fork
 * @number: unlike any other thread's of this process, never 0; the child of a
 *	    fork keeps it
 * @waiter: what others may see of it, or NULL if it has never waited
 * @owner_id: by which the C library's mutexes know it, or 0: not asked for yet,
 *	      or not since a fork
 * @for_signals: what it may spend on polling for a signal
 * @for_mutexes: the same for a mutex
 * @for_locks: the same for the library's own locks
 * @for_barriers, @for_streams: the same for phases, and for operations
 */
struct thread {
	uint32_t tid;
	uint32_t number;
	uint32_t owner_id;
	struct waiter *waiter;
	struct account for_signals;
	struct account for_mutexes;
	struct account for_locks;
	struct account for_barriers;
	struct account for_streams;
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

/* The other two bits of a futex bitset are for the groups of shared condvars. */
#define WAITER_BITS 30

/**
 * struct waiter - a thread that has waited
 * @thread: for finding the thread by its pthread_t; [bucket's lock]
 * @next: the list of a bucket; [its lock]
 * @group: the private group on which the thread waits, or NULL
 * @shared_word: the shared futex word on which it waits, or NULL;
 *		 [bucket's lock]
 * @inside: the private barrier, or condvar of several processes, that the thread
 *	    is inside of, or NULL
 * @tid: its thread id; written under the bucket's lock
 * @interrupts: counts the cancellations that want the thread to look
 * @seen: the value of @interrupts that it knows of; only this thread touches it
 * @bit: which of WAITER_BITS kinds of sleeper it is: others need not wake for
 *	 its sake; written under the bucket's lock
 * @spare: a group that the thread keeps for its next wait, or NULL; only the
 *	   thread touches it, in cond/group.c and when it ends
 *
 * Waiters lie in an arena (base/arena.h), which is never unmapped: a thread
 * whose last destructors wait leaves its waiter behind, where a canceller may
 * still see it.
 *
 * [W-CANCEL] @group is set before the thread looks at @interrupts, and
 * @interrupts is raised before the canceller looks at @group: store buffering,
 * so both sides are sequentially consistent. Without it the thread could go to
 * sleep with its cancellation pending.
 */
struct waiter {
	pthread_t thread;
	void *next;
	_Atomic(struct group *) group;
	futex_word *shared_word;
	_Atomic(void *) inside;
	uint32_t tid;
	_Atomic uint32_t interrupts;
	uint32_t seen;
	uint32_t bit;
	struct group *spare;
} __attribute__((aligned(64)));

COLD struct waiter *waiter_setup(void);

/* The caller's, or NULL without memory. */
static inline struct waiter *waiter_self(void)
{
	struct waiter *w = thread_this.waiter;

	return likely(w) ? w : waiter_setup();
}

/*
 * Counts the forks that led to this process, from GENERATION_LEAST to
 * UINT32_MAX and again. It changes only in the child of a fork, while that has
 * one thread.
 */
#define GENERATION_LEAST (UINT32_C(1) << 31)
extern uint32_t fork_generation;

/* For what starts anew in the child of a fork, where nobody has it. */
extern struct lock fork_lock;

/**
 * waiter_publish() - where a cancellation finds this thread asleep
 * @w: the caller
 * @word: a word of a shared condvar, or NULL: nobody uses the last one any more
 */
COLD void waiter_publish(struct waiter *w, futex_word *word);

/* The waiter of @thread or NULL, with the @lock of its bucket: to be dropped. */
struct waiter *waiter_find(pthread_t thread, struct lock **lock);

/* Call @each for all waiters, with the bucket of each locked. */
void waiter_for_all(void (*each)(struct waiter *w, void *arg), void *arg);

/* Is a thread of this process inside of @object? */
bool waiter_is_inside(const void *object);

/*
 * Let other threads run, also those of lower priority: one more time, after
 * @nr_before times.
 */
COLD void thread_pause(unsigned int nr_before);

#endif /* DROVER_THREAD_H */
