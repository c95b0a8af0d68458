/* SPDX-License-Identifier: MIT */
/*
 * drover_pool_t inside.
 *
 * A task counts in one word how many threads have yet to run it: one thread, or
 * several for the helpers of a loop. For each of these runs an accepted task is
 *
 *   queued	linked in a queue [its lock]; @left counts these runs
 *   taken	in the hands of a thread: its submitter, or one that unlinked it
 *   ended	run or cancelled, and counted out. That is the last access to
 *		the task, since a thread that waits until the count is 0 may
 *		free the memory.
 *
 * A worker is in one of these states:
 *
 *   active	it runs a task, or searches for one
 *   blocked	inside a task, it sleeps until another task has ended
 *   idle	it sleeps, or is about to sleep, until a thread claims it
 *
 * At most nr_workers threads may be active. There are more threads, so that
 * others can take the places of blocked ones. A thread that is no longer
 * blocked is active at once. Then too many are active, until one of them has
 * done its task.
 *
 * Lock order: a thread holds only one lock at a time.
 */
#ifndef DROVER_POOL_INTERNAL_H
#define DROVER_POOL_INTERNAL_H

#include <drover/pool.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "base/fork.h"
#include "base/lock.h"
#include "base/poll.h"
#include "base/thread.h"

/*
 * A latch counts what is yet to end:
 *
 *   bit  0	LATCH_ASLEEP	a thread may be asleep until the count is 0
 *   bits 1-31	count		what is yet to end
 *   bits 32-63			how often the count has become 0; wraps
 */
typedef _Atomic uint64_t latch_word;
#define LATCH_ASLEEP 1u
#define LATCH_ONE    2u
#define LATCH_NONE   (UINT64_C(1) << 32)

/* The owner of a task's memory. */
enum owner {
	OWNER_USER,
	OWNER_POST,
	OWNER_LOOP,  /* may run several times at once, so it has no result */
	OWNER_GANG,  /* the same, and it is never cancelled */
	OWNER_QUEUE, /* a stream: see pool_enqueue_own() */
};

/* The inside of drover_task_t. */
struct task {
	int (*function)(void *arg);
	void *arg;
	latch_word unended; /* how many threads have yet to run it */
	struct task *prev;  /* in the queue; [queue's lock] */
	struct task *next;
	_Atomic(struct queue *) queue; /* or NULL; written with its lock */
	int result;		       /* written before the task has ended */
	uint32_t left;	/* how many threads may still take it; [queue's lock] */
	uint8_t owner;	/* constant */
	bool cancelled; /* not run to its end; written like result */
	_Atomic bool accepted; /* the task was accepted at least once */
};

/* Tasks that no thread has begun. */
struct queue {
	struct lock lock;	      /* short sections without a system call */
	_Atomic(struct task *) first; /* the oldest; unlocked reads: a hint */
	struct task *last;	      /* the newest; [lock] */
} __attribute__((aligned(128)));

/* The kernel's struct sched_attr. A thread inherits its first 24 bytes. */
struct scheduling {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t deadline[3]; /* 0: no thread inherits that policy */
};

/* A thread of the pool. */
struct worker {
	/* Its own submits. It takes the newest task, others take the oldest. */
	struct queue queue;
	struct drover_pool *pool;
	struct worker *next; /* constant, and so are pool and nr */
	unsigned int nr;
	pthread_t thread;	  /* written with the lock "grow" */
	futex_word parked;	  /* it may sleep until this is cleared */
	struct worker *next_idle; /* [idle lock] */
	uint32_t takes;		  /* counts searches for a task; its own */
	struct worker *fair;	  /* its queue had the last turn; its own */
	struct task *found;	  /* by polling; its own */
	bool inherits; /* it keeps what it inherits; written by its maker */
	pid_t tid;
	int cpu;	/* where it became idle; [idle lock] */
	int woken_from; /* the CPU on which its waker is busy, or -1 */
	/*
	 * These belong to the worker, except before it exists (to its maker)
	 * and between its claim and the end of "parked" (to its claimer):
	 */
	bool moved;	   /* the affinity is to be put back at wake-up */
	cpu_set_t allowed; /* the affinity to put back, or to begin with */
	cpu_set_t lent;	   /* the affinity that it wakes up with */
	struct poll_account account; /* for polling for tasks */
	/* Written by the worker alone. */
	_Atomic uint64_t tasks;
	_Atomic uint64_t steals;
	_Atomic uint64_t sleeps;
	_Atomic uint64_t linger_ns;
} __attribute__((aligned(128)));

/* A task or loop that the thread is inside; below it are the outer ones. */
struct frame {
	struct drover_pool *pool;
	struct frame *below;
};

/* The state that pools keep in each thread. */
struct here {
	struct worker *worker;	     /* the worker that it is, or NULL */
	struct frame *top;	     /* the innermost task or loop */
	uintptr_t stack;	     /* the stack's lowest address, or 0 */
	size_t half;		     /* half of its bytes, see nest.c */
	struct poll_account account; /* for waiting for tasks */
};

extern _Thread_local struct here pool_here;

/* drover_pool.ending */
enum {
	POOL_OPEN,
	POOL_DRAINS,
	POOL_CANCELS,
	POOL_OVER, /* workers have to end */
};

/*
 * nr_queued, nr_searching, nr_active and nr_idle decide together whether to
 * wake and whether to sleep. See wake_if_needed().
 */
struct drover_pool {
	drover_poolattr_t attr; /* copies of what name and cpu_sets point to */
	char name[11];
	_Atomic int64_t linger[2]; /* at most; on big CPUs and on small ones */
	uint32_t generation;	   /* of forks */
	struct scheduling scheduling; /* the creator's; size 0: not restored */

	struct queue injected; /* tasks of threads that are not workers */

	/* Tasks in all queues; changed with the queue's lock. */
	_Atomic uint32_t nr_queued __attribute__((aligned(128)));
	/* Workers that search for a task, or are claimed and on their way. */
	_Atomic uint32_t nr_searching;
	_Atomic uint32_t nr_active;  /* see the top of this file */
	_Atomic uint32_t nr_workers; /* how many may be active */

	/* Guards the list of idle workers; the latest is the first. */
	struct lock idle_lock __attribute__((aligned(128)));
	struct worker *idle;
	_Atomic uint32_t nr_idle; /* written with the lock */
	_Atomic uint32_t polling; /* a worker polls for a task */
	_Atomic uint64_t wakes;
	_Atomic uint32_t look_after; /* wake-ups still to place, see place.c */
	_Atomic uint64_t moves;

	/* Taken to make threads and to change how many there may be. */
	struct lock grow __attribute__((aligned(128)));
	_Atomic(struct worker *) threads; /* only grows; written with grow */
	_Atomic uint32_t nr_threads;	  /* at work; written with grow */
	_Atomic int32_t nr_ready;	  /* threads that are not blocked */
	_Atomic uint64_t blocks;
	cpu_set_t cpus;		  /* the CPUs of all workers together; [grow] */
	_Atomic uint32_t nr_cpus; /* how many, or the cgroup's lower limit */
	_Atomic int64_t looked_at;  /* when nr_cpus was set */
	_Atomic uint32_t wanted;    /* the user's nr_workers; 0: nr_cpus */
	_Atomic uint32_t nr_ganged; /* workers of gangs; written with grow */

	/* Tasks that were accepted and have not ended. */
	latch_word pending __attribute__((aligned(128)));
	_Atomic uint32_t ending; /* POOL_* */
	_Atomic uint64_t helped;
	_Atomic uint64_t cancelled;
	_Atomic uint32_t queued_most;

	cpu_set_t cpu_sets[];
};

_Static_assert(sizeof(struct task) == sizeof(drover_task_t), "arrays fit");

/* Does @pool live in the calling process? */
static inline bool pool_is_here(const struct drover_pool *pool)
{
	return pool->generation == fork_generation();
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

/* queue.c: these functions keep @pool->nr_queued. */
void queue_push(struct drover_pool *pool, struct queue *queue,
		struct task *first, struct task *last, uint32_t nr);
struct task *queue_take(struct drover_pool *pool, struct queue *queue,
			bool newest);
/* Take all runs of @task that no thread has taken. Return: how many. */
uint32_t queue_take_all(struct drover_pool *pool, struct task *task);

/* pool.c: run all tasks that are queued, or cancel them. */
void queues_empty(struct drover_pool *pool, bool cancel);

/* worker.c */

void *worker_main(void *worker);

/*
 * A thread that has queued tasks wakes so many workers, and each of these wakes
 * as many again: a tree.
 */
#define WAKE_AT_ONCE 2

/*
 * Wake at most @most workers, if those that search do not suffice. @busy: the
 * caller still needs its CPU afterwards.
 */
void wake_if_needed(struct drover_pool *pool, unsigned int most, bool busy);

/* Workers have to end: wake those that sleep. */
void wake_all_idle(struct drover_pool *pool);

/*
 * block_begin(): the calling thread is about to sleep until tasks end. If it is
 * a worker, another one takes its place until block_end(). @must: go on even if
 * too few workers are left. Return: 0, or EAGAIN if they are and @must is not
 * set.
 */
int block_begin(bool must);
void block_end(void);

/* threads.c */

/*
 * threads_fill() makes threads until as many are not blocked as may be active,
 * or no more spares are allowed. threads_set() first sets how many may be
 * active. Return: 0 or an error.
 */
int threads_fill(struct drover_pool *pool);
int threads_set(struct drover_pool *pool);
void threads_end(struct drover_pool *pool);

/*
 * remember_creator() remembers the affinity and the policy of the calling
 * thread, the creator. begin_as_creator() gives them to the calling thread, the
 * new worker @w.
 */
void remember_creator(struct drover_pool *pool);
void begin_as_creator(struct worker *w);

/*
 * Keep @nr workers for a gang, until it gives them back. Return: 0, or EAGAIN
 * if fewer are left.
 */
int threads_keep(struct drover_pool *pool, size_t nr);
void threads_give_back(struct drover_pool *pool, size_t nr);

/* Is a thread left that is not blocked, and are there as many as gangs need? */
bool threads_suffice(struct drover_pool *pool);

/* Make a thread if none is left. Return: is there one now? */
bool threads_any(struct drover_pool *pool);

/*
 * The caller, the thread of @w, ends. Make another thread @w, unless the pool
 * ends. Return: false if none can be made; then the pool has one thread less.
 */
bool thread_replace(struct worker *w);

/* Follow the number of CPUs, if it changes. Looks at most once a second. */
void threads_follow(struct drover_pool *pool);

/*
 * place.c: place_before_wake() is called when @w is claimed and about to be
 * woken from @cpu; @w calls place_after_wake() when it is awake. Neither
 * affects correctness.
 */
void place_before_wake(struct worker *w, int cpu);
void place_after_wake(struct worker *w);

/*
 * task.c: @nr have ended. After the last, a waiting thread may free the memory.
 */
void latch_down(latch_word *latch, uint32_t nr);

/*
 * Wait until the count is 0, was 0 at some moment since the call, or @deadline
 * has come. @must: as for block_begin(). Return: 0, ETIMEDOUT, EAGAIN.
 */
int latch_await(latch_word *latch, const struct deadline *deadline, bool must);

/* Wait until no task is left, or none was at some moment since the call. */
void pool_await_none(struct drover_pool *pool);

/* Run a task that the caller has taken, or cancel it. */
void task_run(struct drover_pool *pool, struct task *task, bool cancelled);

/*
 * nest.c: stack_is_short(): is more than half of the stack in use by tasks on
 * top of tasks? Then task_run_apart() has @task run on another stack, unless it
 * has begun. Return: 0 or EAGAIN.
 */
bool stack_is_short(void);
int task_run_apart(struct drover_pool *pool, struct task *task);

/* Count @nr tasks in, unless the pool ends. Return: 0 or ESHUTDOWN. */
int pool_admit(struct drover_pool *pool, uint32_t nr);

/*
 * Queue a list of admitted tasks, which may be taken @nr times in all, and wake
 * workers. @busy: as for wake_if_needed().
 */
void pool_enqueue(struct drover_pool *pool, struct task *first,
		  struct task *last, uint32_t nr, bool busy);

/*
 * Queue one task that no thread waits for. It is always accepted. Its function
 * decides when it may be queued again, and may queue it itself.
 */
void pool_enqueue_own(struct drover_pool *pool, struct task *task);

/* Is the caller a worker of @pool, or inside a task or loop of @pool? */
bool pool_inside(const struct drover_pool *pool);

#endif /* DROVER_POOL_INTERNAL_H */
