/* SPDX-License-Identifier: MIT */
/*
 * What the library keeps for each thread: its ids, and, once it has waited, a
 * few spare groups and where a cancellation finds it.
 */
#ifndef DROVER_WAITER_H
#define DROVER_WAITER_H

#include <pthread.h>
#include <sys/types.h>

#include "base/atomic.h"
#include "base/futex.h"

struct cond;
struct group;
struct waiter;

#define WATCH_SKIP_BITS 12

/**
 * struct watch - whether it pays to look for something before the sleep
 * @skip: so many times more not to
 * @misses: how often in a row that was in vain; 0 after once that it was not
 */
struct watch {
	uint16_t skip : WATCH_SKIP_BITS;
	uint16_t misses : 16 - WATCH_SKIP_BITS;
};

/**
 * struct thread - a thread, in its own memory
 * @tid: kernel thread id; another one in the child of a fork
 * @number: unlike any other thread's of this process, never 0; the child of a
 *	    fork keeps it
 * @waiter: what others may see of it, or NULL if it has never waited
 * @idle: the condvar on which it last signalled nobody; an address only
 * @idle_again: and the time before, too
 * @awake: the condvar whose waiter it last released awake; an address only
 * @invited: that one had been asleep the time before
 * @released: whom it has released alone since it last waited, or NULL
 * @herd: a group of several, some of whom it has released since it last waited; a
 *	  guess, or NULL
 * @awaits: whether it pays to look for their answer
 * @looks: whether it pays to look at a held mutex before the sleep
 * @gives: whether others give the CPU back soon
 */
struct thread {
	pid_t tid;
	uint32_t number;
	struct waiter *waiter;
	const struct cond *idle;
	const struct cond *awake;
	bool idle_again;
	bool invited;
	struct waiter *released;
	struct group *herd;
	struct watch awaits;
	struct watch looks;
	struct watch gives;
};

extern _Thread_local struct thread thread_this;

COLD void thread_setup(void);

static inline struct thread *thread_self(void)
{
	if (unlikely(!thread_this.tid))
		thread_setup();
	return &thread_this;
}

/* In the format of the kernel's PI futexes. */
static inline uint32_t thread_tid(void)
{
	return (uint32_t)thread_self()->tid;
}

/* The same, of a thread that has one of the library's locks. */
static inline uint32_t thread_tid_known(void)
{
	return (uint32_t)thread_this.tid;
}

/* For how many condvars a thread remembers whether to look for a signal. */
#define WAITER_WATCHES 8

/* Shall a thread get up before its signal comes? cond_heir.c */
enum call {
	CALL_NONE,
	CALL_MADE,
	CALL_HEARD, /* it is up and looks */
};

/* Spare groups a thread keeps; more go to the list that all threads share. */
#define WAITER_SPARES 4

/**
 * struct waiter - a thread that waits now and then
 * @thread: for finding the thread by its pthread_t; [bucket's lock]
 * @prev, @next: the list of a bucket; [its lock]. The pool's uses @next.
 * @group: the private group on which the thread waits, or NULL
 * @shared_word: the shared futex word on which it waits, or NULL;
 *		 [bucket's lock]
 * @tid: its thread id; written under the bucket's lock
 * @kick: counts the cancellations that want the thread to look up
 * @seen: the value of @kick that it knows of; only this thread touches it
 * @bit: which of 32 kinds of sleeper it is: others need not wake for its sake;
 *	 written under the bucket's lock
 * @listed: the thread is where others find it; only this thread touches it
 * @nr_spares: how many of @spares are there
 * @spares: groups in nobody's use; only this thread touches them
 * @barrier: the private barrier that the thread is inside of, or NULL
 * @woken_by: the condvar whose signal woke this thread under the mutex the last
 *	      time, if the thread has not told it yet what came of that; an
 *	      address only, the condvar may be gone
 * @lesson: the enum lesson for which it is to tell that
 * @found_held: what came of it: the mutex was held, waking was too early
 * @watches: by condvar; two may share one
 * @given: the same for looks after others have had the CPU
 * @heir: whom it has released alone the last time; this and the others below are
 *	  guesses, on which nothing depends
 * @bed: the word of a private group on which it sleeps, or NULL
 * @gives_way: it looks for its signal only once, and does not ask that of others
 * @call: an enum call
 * @call_skip: so many times more not to call it; for those who would
 * @call_misses: how often in a row that was in vain; only this thread touches it
 *
 * Waiters lie in pages that are never unmapped: a thread whose last destructors
 * wait leaves its own behind, where a canceller may still see it.
 *
 * @group is set before the thread looks at @kick, and @kick is raised before
 * the canceller looks at @group: store buffering, so both sides are
 * sequentially consistent [W-KICK]. Without it the thread could go to sleep
 * with its cancellation pending.
 */
struct waiter {
	pthread_t thread;
	struct waiter *prev;
	struct waiter *next;
	_Atomic(struct group *) group;
	futex_word *shared_word;
	pid_t tid;
	_Atomic uint32_t kick;
	uint32_t seen;
	uint32_t bit;
	uint32_t nr_spares;
	bool listed;
	struct group *spares[WAITER_SPARES];
	_Atomic(void *) barrier;
	const struct cond *woken_by;
	uint8_t lesson;
	bool found_held;
	struct watch watches[WAITER_WATCHES];
	struct watch given[WAITER_WATCHES];
	_Atomic(struct waiter *) heir;
	_Atomic(futex_word *) bed;
	_Atomic bool gives_way;
	_Atomic uint8_t call;
	uint8_t call_misses;
	_Atomic uint16_t call_skip;
} __attribute__((aligned(64)));

COLD struct waiter *waiter_setup(void);

static inline struct waiter *waiter_self(void)
{
	struct waiter *w = thread_this.waiter;

	return likely(w) ? w : waiter_setup();
}

/*
 * Counts the forks that led to this process, modulo 2^32. It changes only in
 * the child of a fork, while that has one thread.
 */
extern uint32_t process_life;

/**
 * waiter_publish() - where a cancellation finds this thread asleep
 * @w: the caller
 * @word: a word of a shared condvar, or NULL: nobody uses the last one any more
 */
COLD void waiter_publish(struct waiter *w, futex_word *word);

/*
 * Let other threads run, also those of lower priority: one more time, after
 * @nr_before times.
 */
COLD void waiter_give_way(unsigned int nr_before);

/* Wait until no other thread is inside of @barrier. */
void waiter_await_barrier(const void *barrier);

/* Make the thread @thread look at its @kick, if it waits on a condvar. */
void waiter_kick(pthread_t thread);

/* A page of zeroes for waiters or groups, never given back; NULL: no memory. */
#define CHUNK_BYTES 4096
COLD void *map_chunk(void);

/* How many threads have waited and not ended yet. */
uint32_t waiters_alive(void);

/* Take all who wait in @g out of their system call. */
void waiter_interrupt(struct group *g);

#endif /* DROVER_WAITER_H */
