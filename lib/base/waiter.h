/* SPDX-License-Identifier: MIT */
/*
 * The registry of waiters: the threads that have waited, and the parts of them
 * that other threads may see. cond_cancel() finds there where a thread sleeps.
 * The functions that destroy an object find there whether a thread is still
 * inside of it.
 */
#ifndef DROVER_WAITER_H
#define DROVER_WAITER_H

#include <pthread.h>

#include "base/lock.h"
#include "base/thread.h"

struct group;

/* The other two bits of a futex bitset are for groups of shared condvars. */
#define WAITER_BITS 30

/**
 * struct waiter - a thread that has waited
 * @thread: the key by which the thread is found; [bucket's lock]
 * @next: the list of a bucket; [its lock]
 * @group: the private group on which the thread waits, or NULL
 * @shared_word: the shared futex word on which the thread waits, or NULL;
 *		 [bucket's lock]
 * @inside: the private barrier, or condvar of several processes, that the
 *	    thread is inside of, or NULL
 * @tid: its thread id; written under the bucket's lock
 * @cancellations: how often the thread was cancelled; if this changes, the
 *		   thread has to look whether the cancellation is due
 * @cancellations_seen: the value of @cancellations that the thread knows of;
 *			only this thread touches it
 * @bit: one of WAITER_BITS bits. A wake-up for this thread wakes only threads
 *	 with the same bit; written under the bucket's lock
 * @spare: a group that the thread keeps for its next wait, or NULL; only the
 *	   thread touches it, in cond/group.c and when it ends
 *
 * Waiters lie in an arena (base/arena.h), which is never unmapped. If a thread
 * waits in one of its last destructors, it leaves its waiter behind, where a
 * canceller may still see it.
 *
 * [W-CANCEL] The thread sets @group before it looks at @cancellations, and the
 * canceller raises @cancellations before it looks at @group. This is store
 * buffering, so the accesses of both sides are sequentially consistent.
 * Otherwise the thread could go to sleep with its cancellation pending.
 */
struct waiter {
	pthread_t thread;
	struct waiter *next;
	_Atomic(struct group *) group;
	futex_word *shared_word;
	_Atomic(void *) inside;
	uint32_t tid;
	_Atomic uint32_t cancellations;
	uint32_t cancellations_seen;
	uint32_t bit;
	struct group *spare;
} __attribute__((aligned(64)));

COLD struct waiter *waiter_setup(void);

/* Return: the caller's waiter, or NULL without memory. */
static inline struct waiter *waiter_self(void)
{
	struct waiter *w = thread_self()->waiter;

	return likely(w) ? w : waiter_setup();
}

/**
 * waiter_publish() - say where a cancellation finds this thread asleep
 * @w: the caller
 * @word: a word of a shared condvar; NULL: no thread uses the previous word any
 *	  more
 */
COLD void waiter_publish(struct waiter *w, futex_word *word);

/*
 * Return: the waiter of @thread or NULL; and the @lock of its bucket, which the
 * caller holds now and has to drop.
 */
struct waiter *waiter_find(pthread_t thread, struct lock **lock);

/* Call @each for all waiters, with the bucket of each waiter locked. */
void waiter_for_all(void (*each)(struct waiter *w, void *arg), void *arg);

/* Is a thread of this process inside of @object? */
bool waiter_is_inside(const void *object);

/*
 * Enter @w under @w->thread. The caller holds the lock that waiter_find() took.
 */
void waiter_add(struct waiter *w);

/* Take @w out, after which no other thread finds it. @w may be the parent's. */
void waiter_remove(struct waiter *w);

#endif /* DROVER_WAITER_H */
