/* SPDX-License-Identifier: MIT */
/*
 * drover_pool_t inside.
 *
 * A task counts in one word how many threads have yet to run it: one, or for
 * the helpers of a loop several. From its acceptance on it is, as often,
 *
 *   queued	linked in a queue, [its lock]; @left says how often still
 *   taken	in the hands of a thread: its submitter, or one that unlinked it
 *   ended	run or cancelled: counted out, which is the last access to it,
 *		since who waits for the count to be 0 may free the memory
 *
 * A worker is, in turn,
 *
 *   active	it runs a task, or searches for one
 *   blocked	it sleeps until a task has ended, inside of another one
 *   idle	it sleeps, or is about to, until somebody claims it
 *
 * As many as the pool has workers may be active; there are more threads, so that
 * others take the places of those that are blocked. Who is no longer blocked is
 * active at once: then there are too many, until one of them has done its task.
 *
 * Lock order: of all locks only one is held at a time.
 */
#ifndef DROVER_POOL_INTERNAL_H
#define DROVER_POOL_INTERNAL_H

#include <drover/pool.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "base/lock.h"
#include "base/linger.h"

/*
 * A latch: a count of what is yet to end, doubled, and 1 if somebody may be
 * asleep until it is 0.
 */
#define LATCH_ASLEEP 1u
#define LATCH_ONE    2u

/* drover_pool.pending is a latch, and above it counts how often it was 0. */
#define PENDING_NONE (UINT64_C(1) << 32)

/* Whose memory a task is in. */
enum owner {
	OWNER_USER,
	OWNER_POST,
	OWNER_LOOP, /* may run several times at once: without a result */
};

/**
 * struct task - the inside of drover_task_t
 * @function, @arg: the user's
 * @unended: how many threads have yet to run it; a latch
 * @result: what @function returned; written before it has ended
 * @prev, @next: in the queue; [queue's lock]
 * @queue: where it is queued, or NULL; written with the queue's lock
 * @left: how many threads may still take it; [queue's lock]
 * @owner: constant
 * @cancelled: it did not run to its end; written before it has ended
 * @accepted: once it was
 */
struct task {
	int (*function)(void *arg);
	void *arg;
	futex_word unended;
	int result;
	struct task *prev;
	struct task *next;
	_Atomic(struct queue *) queue;
	uint32_t left;
	uint8_t owner;
	bool cancelled;
	_Atomic bool accepted;
	char gap[9];
};

/* A posted one, and what is called if it is cancelled, or NULL. */
struct post {
	struct task task;
	void (*otherwise)(void *arg);
};

/**
 * struct queue - tasks that nobody has begun
 * @lock: short sections without a system call
 * @first: the oldest; [lock]
 * @last: the newest; [lock]
 * @nr: how many, each as often as it may be taken; written with @lock, read
 *	without, as a hint
 */
struct queue {
	struct lock lock;
	_Atomic uint32_t nr;
	struct task *first;
	struct task *last;
} __attribute__((aligned(128)));

/**
 * struct worker - a thread of the pool
 * @queue: what it has submitted itself: it takes the newest, others the oldest
 * @pool, @next, @nr: constant
 * @thread: written with the lock of growing
 * @park: PARKED while it may sleep; whoever claims it sets UNPARKED
 * @next_idle: [idle lock]
 * @takes: how often it has looked for a task; its own
 * @fair: the worker whose queue had its turn; its own
 * @tid: thread id
 * @cpu: where it was when it became idle; [idle lock]
 * @woken_from: the CPU of who woke it and is busy there, or -1
 * @moved: to be put back when it wakes up; from being claimed to UNPARKED its
 *	   claimer's, otherwise its own, as are
 * @allowed: the affinity to be put back
 * @lent: the one that it wakes up with
 * @account: for looking out for tasks
 * @tasks, @steals, @sleeps, @linger_ns: written by the worker alone
 */
struct worker {
	struct queue queue;
	struct drover_pool *pool;
	struct worker *next;
	unsigned int nr;
	pthread_t thread;
	futex_word park;
	struct worker *next_idle;
	uint32_t takes;
	struct worker *fair;
	pid_t tid;
	int cpu;
	int woken_from;
	bool moved;
	cpu_set_t allowed;
	cpu_set_t lent;
	struct account account;
	_Atomic uint64_t tasks;
	_Atomic uint64_t steals;
	_Atomic uint64_t sleeps;
	_Atomic uint64_t linger_ns;
} __attribute__((aligned(128)));

/* A task or loop that the thread is inside of; others are below it. */
struct frame {
	struct drover_pool *pool;
	struct frame *below;
};

/**
 * struct here - what a pool keeps of the calling thread
 * @worker: that it is, or NULL
 * @top: the innermost task or loop
 * @account: for waiting for tasks
 */
struct here {
	struct worker *worker;
	struct frame *top;
	struct account account;
};

extern _Thread_local struct here pool_here;

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
 * @attr: the user's; of what they point to, @name and @cpu_sets are copies
 * @linger: most time to look out for a task, on big CPUs and on small ones
 * @generation: that of forks
 *
 * @injected: tasks submitted by threads that are no workers
 *
 * @nr_queued: tasks in all queues; changed with the queue's lock
 * @nr_searching: workers that are awake without a task: they look for one, or
 *		  have been claimed and are on their way
 * @nr_active: see above
 * @nr_workers: how many may be
 *
 * @idle_lock: of the list of workers that sleep or are about to
 * @idle: the list; the latest first
 * @nr_idle: how many; written with @idle_lock
 * @lingering: somebody looks out for a task
 * @look_after: wake-ups that still are to be kept off the waking CPU
 *
 * @grow: lock of making threads
 * @threads: all workers; only grows; [written with grow]
 * @nr_threads: how many; [written with grow]
 * @nr_blocked: of them, with those that are lost
 * @nr_lost: those that have ended, and could not be replaced
 * @nr_cpus: how many there are for the process, as last known
 * @looked_at: when that was
 * @follows: @nr_workers is to be @nr_cpus
 *
 * @pending: tasks that were accepted and have not ended; see PENDING_NONE
 * @ending: POOL_*
 * @over: workers shall end
 *
 * @nr_queued, @nr_searching, @nr_active and @nr_idle decide together whether to
 * wake and whether to sleep. See wake_if_needed().
 */
struct drover_pool {
	drover_poolattr_t attr;
	char name[11];
	int64_t linger[2];
	uint32_t generation;

	struct queue injected;

	_Atomic uint32_t nr_queued __attribute__((aligned(128)));
	_Atomic uint32_t nr_searching;
	_Atomic uint32_t nr_active;
	_Atomic uint32_t nr_workers;

	struct lock idle_lock __attribute__((aligned(128)));
	struct worker *idle;
	_Atomic uint32_t nr_idle;
	_Atomic uint32_t lingering;
	_Atomic uint64_t wakes;
	_Atomic uint32_t look_after;
	_Atomic uint64_t moves;

	struct lock grow __attribute__((aligned(128)));
	_Atomic(struct worker *) threads;
	_Atomic uint32_t nr_threads;
	_Atomic uint32_t nr_blocked;
	_Atomic uint32_t nr_lost;
	_Atomic uint64_t blocks;
	_Atomic uint32_t nr_cpus;
	_Atomic int64_t looked_at;
	_Atomic bool follows;

	_Atomic uint64_t pending __attribute__((aligned(128)));
	_Atomic uint32_t ending;
	_Atomic uint32_t over;
	_Atomic uint64_t helped;
	_Atomic uint64_t cancelled;
	_Atomic uint32_t queued_most;

	cpu_set_t cpu_sets[];
};

_Static_assert(sizeof(struct task) == sizeof(drover_task_t), "arrays fit");

static inline struct task *task_of(drover_task_t *task)
{
	return (struct task *)task;
}

/* The worker of @pool that the caller is, or NULL. */
static inline struct worker *pool_self(const struct drover_pool *pool)
{
	struct worker *w = pool_here.worker;

	return w && w->pool == pool ? w : NULL;
}

static inline void frame_enter(struct frame *frame, struct drover_pool *pool)
{
	*frame = (struct frame){ pool, pool_here.top };
	pool_here.top = frame;
}

static inline void frame_leave(struct frame *frame)
{
	pool_here.top = frame->below;
}

/* queue.c: all count in @pool->nr_queued. */
void queue_push(struct drover_pool *pool, struct queue *queue,
		struct task *first, struct task *last, uint32_t nr);
struct task *queue_take(struct drover_pool *pool, struct queue *queue,
			bool newest);
/* Take @task as often as nobody has. Return: how often that is. */
uint32_t queue_take_all(struct drover_pool *pool, struct task *task);

/* pool.c: run all tasks that are queued, or cancel them. */
void queues_empty(struct drover_pool *pool, bool cancel);

/* worker.c */

void *worker_main(void *worker);

/*
 * Wake at most @most workers, if those awake do not suffice. @busy: the caller
 * goes on to need its CPU.
 */
void wake_if_needed(struct drover_pool *pool, unsigned int most, bool busy);

/* Workers shall end: wake those that sleep. */
void wake_all_idle(struct drover_pool *pool);

/*
 * The calling thread is about to sleep until tasks end, and does so no more. If
 * it is a worker, another one takes its place. @must: without one, too.
 * Return: 0, or EAGAIN: no worker would be left.
 */
int block_begin(bool must);
void block_end(void);

/* threads.c */

/* As many threads as may be active, or as are to be: 0 or why not. */
int threads_fill(struct drover_pool *pool);
int threads_set(struct drover_pool *pool, uint32_t nr);
void threads_end(struct drover_pool *pool);

/* Is any thread left? If not, one is made. */
bool threads_any(struct drover_pool *pool);

/* The caller ends. Return: is another thread @w now, or does the pool end? */
bool thread_replace(struct worker *w);

/* Have the CPUs changed? At most once a second. */
void threads_follow(struct drover_pool *pool);

/*
 * place.c: @w is claimed, and about to be woken from @cpu; and it is awake.
 * Neither affects correctness.
 */
void place_before_wake(struct worker *w, int cpu);
void place_after_wake(struct worker *w);

/* task.c: @nr have ended. Who waits for all may free the memory then. */
void latch_down(futex_word *latch, uint32_t nr);
void pool_count_down(struct drover_pool *pool, uint32_t nr);

/* Until no task is left, or there was such a moment since the call. */
void pool_await_none(struct drover_pool *pool);

/*
 * Until all have ended, or @deadline. @must: as for block_begin(). Return: 0,
 * ETIMEDOUT, EAGAIN.
 */
int latch_await(futex_word *latch, const struct deadline *deadline, bool must);

/* Run a task that was taken, or cancel it. */
void task_run(struct drover_pool *pool, struct task *task, bool cancelled);

/* Count tasks in, or refuse. Return: 0 or why not. */
int pool_admit(struct drover_pool *pool, uint32_t nr);

/*
 * Queue a list of tasks that were admitted, to be taken @nr times, and wake
 * workers. @busy: as for wake_if_needed()
 */
void pool_enqueue(struct drover_pool *pool, struct task *first,
		  struct task *last, uint32_t nr, bool busy);

/* Is the caller a worker of @pool, or inside a task or loop of it? */
bool pool_inside(const struct drover_pool *pool);

/* Does @pool live in the calling process? */
bool pool_is_here(const struct drover_pool *pool);

#endif /* DROVER_POOL_INTERNAL_H */
