/* SPDX-License-Identifier: MIT */
/*
 * drover_pool_t inside.
 *
 * A task is in one of these states, the low bits of its word:
 *
 *   TASK_NEW		not submitted yet, or never
 *   TASK_QUEUED	in a queue, linked under the queue's lock
 *   TASK_RUNNING	in the hands of one thread: its submitter, or the one that
 *			unlinked it
 *   TASK_DONE		ended, or cancelled
 *
 * and TASK_AWAITED says that somebody may be asleep on the word. Legal
 * transitions, each one atomic step:
 *
 *   accept	NEW or DONE -> RUNNING		by its submitter
 *   refuse	RUNNING -> NEW			by its submitter
 *   link	RUNNING -> QUEUED		under the queue's lock
 *   take	QUEUED -> RUNNING		under the queue's lock
 *   await	+ AWAITED, if not DONE		by a waiting thread
 *   end	-> DONE, - AWAITED		by who has taken it; final for it:
 *						the memory may be gone
 *
 * Lock order: a queue's lock and the lock of the idle workers are never held
 * together.
 */
#ifndef DROVER_POOL_INTERNAL_H
#define DROVER_POOL_INTERNAL_H

#include <drover/pool.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "base/futex.h"

enum task_state {
	TASK_NEW,
	TASK_QUEUED,
	TASK_RUNNING,
	TASK_DONE,
	TASK_STATE = 3, /* mask */
	TASK_AWAITED = 4,
};

/**
 * struct task - the inside of drover_task_t
 * @function, @arg: the user's
 * @state: see above
 * @result: what @function returned; written before DONE
 * @prev, @next: in the queue; [queue's lock]
 * @queue: where it is queued; constant from accept to take
 * @cancelled: it did not run; written before DONE
 * @posted: it is the library's, to be freed in the end
 */
struct task {
	int (*function)(void *arg);
	void *arg;
	futex_word state;
	int result;
	struct task *prev;
	struct task *next;
	struct queue *queue;
	bool cancelled;
	bool posted;
	char gap[14];
};

/**
 * struct queue - tasks that nobody has begun
 * @lock: short sections without a system call
 * @first: the oldest; [lock]
 * @last: the newest; [lock]
 * @nr: how many; written with @lock, read without, as a hint
 */
struct queue {
	futex_word lock;
	_Atomic uint32_t nr;
	struct task *first;
	struct task *last;
} __attribute__((aligned(128)));

/**
 * struct worker - a thread of the pool
 * @queue: what it has submitted itself: it takes the newest, others the oldest
 * @pool, @nr, @thread: constant while it runs
 * @park: PARKED while it may sleep; whoever claims it sets UNPARKED
 * @next_idle: [idle lock]
 * @is_idle: in the list of idle workers; [idle lock]
 * @random: where to steal first; its own
 * @tid: thread id
 * @cpu: where it was when it became idle; [idle lock]
 * @woken_from: the CPU of who woke it and is busy there, or -1
 * @moved: to be put back when it wakes up; from being claimed to UNPARKED its
 *	   claimer's, otherwise its own, as are
 * @allowed: the affinity to be put back
 * @lent: the one that it wakes up with
 * @tasks, @steals, @sleeps, @linger_ns: written by the worker alone
 */
struct worker {
	struct queue queue;
	struct drover_pool *pool;
	unsigned int nr;
	pthread_t thread;
	futex_word park;
	struct worker *next_idle;
	bool is_idle;
	uint32_t random;
	pid_t tid;
	int cpu;
	int woken_from;
	bool moved;
	cpu_set_t allowed;
	cpu_set_t lent;
	_Atomic uint64_t tasks;
	_Atomic uint64_t steals;
	_Atomic uint64_t sleeps;
	_Atomic uint64_t linger_ns;
} __attribute__((aligned(128)));

enum {
	UNPARKED,
	PARKED
};

/* drover_pool.ending */
enum {
	POOL_OPEN,
	POOL_DRAINS,
	POOL_CANCELS,
};

/**
 * struct drover_pool - a pool
 * @workers, @nr_workers, @linger, @linger_small, @life: constant
 * @nr_cpus: how many there were for the process when the pool was made
 * @one_cpu: who looks out for something keeps it from happening
 *
 * @injected: tasks submitted by threads that are no workers
 *
 * @nr_queued: tasks in all queues; changed with the queue's lock
 * @nr_searching: workers that are awake without a task: they look for one, or
 *		  have been claimed and are on their way
 *
 * @idle_lock: of the list of workers that sleep or are about to
 * @idle: the list; the latest first
 * @nr_idle: how many; written with @idle_lock
 *
 * @pending: twice the tasks that were accepted and have not ended, and 1 if
 *	     somebody may be asleep until there are none
 * @look_ns: how long a wait for a task looks on, instead of sleeping; learned
 * @ending: POOL_*
 * @over: workers shall end
 *
 * @look_after: wake-ups that still are to be kept off the waking CPU
 *
 * @nr_queued, @nr_searching and @nr_idle decide together whether to wake and
 * whether to sleep. See wake_if_needed().
 */
struct drover_pool {
	struct worker *workers;
	unsigned int nr_workers;
	unsigned int nr_started;
	int64_t linger;
	int64_t linger_small;
	uint32_t life;
	unsigned int nr_cpus;
	bool one_cpu;

	struct queue injected;

	_Atomic uint32_t nr_queued __attribute__((aligned(128)));
	_Atomic uint32_t nr_searching;

	futex_word idle_lock __attribute__((aligned(128)));
	struct worker *idle;
	_Atomic uint32_t nr_idle;
	_Atomic uint32_t lingering;
	_Atomic uint32_t linger_misses;
	_Atomic uint64_t wakes;
	_Atomic uint32_t look_after;
	_Atomic uint64_t moves;

	futex_word pending __attribute__((aligned(128)));
	_Atomic uint32_t look_ns;
	_Atomic uint32_t ending;
	_Atomic uint32_t over;
	_Atomic uint64_t helped;
	_Atomic uint64_t cancelled;
	_Atomic uint32_t queued_most;
};

_Static_assert(sizeof(struct task) == sizeof(drover_task_t), "arrays fit");

static inline struct task *task_of(drover_task_t *task)
{
	return (struct task *)task;
}

/* Does each thread that is awake, with one that is no worker, have a CPU? */
static inline bool pool_has_room(const struct drover_pool *pool)
{
	return pool->nr_workers - load_relaxed(&pool->nr_idle) < pool->nr_cpus;
}

/* A lock of three states: free, held, held and somebody may sleep. */
void pool_lock_contended(futex_word *lock);

static inline void pool_lock(futex_word *lock)
{
	uint32_t old = 0;

	if (!cas_acquire(lock, &old, 1))
		pool_lock_contended(lock);
}

static inline void pool_unlock(futex_word *lock)
{
	if (swap_release(lock, 0) == 2)
		futex_wake(lock, 1, false);
}

/* pool_queue.c: all count in @pool->nr_queued. */
void queue_push(struct drover_pool *pool, struct queue *queue,
		struct task *first, struct task *last, uint32_t nr);
struct task *queue_take(struct drover_pool *pool, struct queue *queue,
			bool newest);
/* Take @task, if nobody has. */
bool queue_take_this(struct drover_pool *pool, struct task *task);

/* pool_worker.c */

/* The worker of @pool that the caller is, or NULL. */
struct worker *pool_self(struct drover_pool *pool);

void *worker_main(void *worker);

/* Take any task that there is: the worker's own, injected, another one's. */
struct task *worker_take(struct worker *w);

/*
 * Wake at most @most workers, if those awake do not suffice. @busy: the caller
 * goes on to need its CPU.
 */
void wake_if_needed(struct drover_pool *pool, unsigned int most, bool busy);

/* Workers shall end: wake those that sleep. */
void wake_all_idle(struct drover_pool *pool);

/*
 * pool_place.c: @w is claimed, and about to be woken from @cpu; and it is awake.
 * Neither affects correctness.
 */
void place_before_wake(struct worker *w, int cpu);
void place_after_wake(struct worker *w);

/* pool_task.c: run a task that was taken, @w is the worker or NULL. */
void task_run(struct drover_pool *pool, struct worker *w, struct task *task);
void task_cancel_taken(struct drover_pool *pool, struct task *task);

/* Count tasks in, or refuse. Return: 0 or why not. */
int pool_admit(struct drover_pool *pool, uint32_t nr);

/* As drover_pool_submit_batch(). @busy: as for wake_if_needed() */
int pool_submit(struct drover_pool *pool, struct task *tasks, size_t nr,
		bool busy);

/* Wait until @pending is over. */
void pool_await_none(struct drover_pool *pool);

/* Does @pool live in the calling process? */
bool pool_is_here(const struct drover_pool *pool);

#endif /* DROVER_POOL_INTERNAL_H */
