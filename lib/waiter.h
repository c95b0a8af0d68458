/* SPDX-License-Identifier: MIT */
/*
 * What the library keeps for each thread: its thread id, a few spare groups,
 * and where a cancellation finds it while it waits.
 */
#ifndef DROVER_WAITER_H
#define DROVER_WAITER_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "atomic.h"
#include "futex.h"

struct group;

/* Spare groups a thread keeps; more go to the list that all threads share. */
#define WAITER_SPARES 4

/**
 * struct waiter - a thread, as the library sees it
 * @ready: this thread has been set up (the others are valid)
 * @tid: kernel thread id
 * @nr_spares: how many of @spares are there
 * @spares: groups in nobody's use; only this thread touches them
 * @thread: for finding the thread by its pthread_t; [registry lock]
 * @prev, @next: the list of all waiters; [registry lock]
 * @group: the private group on which the thread waits, or NULL
 * @shared_word: the shared futex word on which it waits, or NULL
 * @kick: set when a cancellation wants the thread to look up
 * @kicking: a canceller may be using @shared_word
 * @listed: the thread is in the list of all; only this thread touches it
 * @barrier: the private barrier that the thread is inside of, or NULL
 *
 * @group or @shared_word is set before the thread first looks at @kick, and
 * @kick is set before the canceller looks at them: store buffering, so both
 * sides are sequentially consistent [W-KICK]. Without it the thread could go
 * to sleep with its cancellation pending.
 */
struct waiter {
	bool ready;
	pid_t tid;
	unsigned int nr_spares;
	struct group *spares[WAITER_SPARES];
	pthread_t thread;
	struct waiter *prev;
	struct waiter *next;
	_Atomic(struct group *) group;
	_Atomic(futex_word *) shared_word;
	_Atomic uint32_t kick;
	_Atomic uint32_t kicking;
	bool listed;
	_Atomic(void *) barrier;
};

extern _Thread_local struct waiter waiter_this;

void waiter_setup(struct waiter *w);

static inline struct waiter *waiter_self(void)
{
	if (__builtin_expect(!waiter_this.ready, 0))
		waiter_setup(&waiter_this);
	return &waiter_this;
}

/*
 * Counts the forks that led to this process, modulo 2^31. It changes only in
 * the child of a fork, while that has one thread.
 */
extern uint32_t process_life;

/*
 * Let other threads run, also those of lower priority: one more time, after
 * @nr_before times.
 */
void waiter_give_way(unsigned int nr_before);

/* Wait until no other thread is inside of @barrier. */
void waiter_await_barrier(const void *barrier);

/* Make the thread @thread look at its @kick, if it waits on a condvar. */
void waiter_kick(pthread_t thread);

#endif /* DROVER_WAITER_H */
