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

#include "base/fork.h"
#include "base/lock.h"
#include "base/poll.h"
#include "base/thread.h"

/*
 * A latch: a count of what is yet to end, doubled, and 1 if somebody may be
 * asleep until it is 0; and in the upper half how often it was 0.
 */
typedef _Atomic uint64_t latch_word;
#define LATCH_ASLEEP 1u
#define LATCH_ONE    2u
#define LATCH_NONE   (UINT64_C(1) << 32)

/* Whose memory a task is in. */
enum owner {
	OWNER_USER,
	OWNER_POST,
	OWNER_LOOP, /* may run several times at once: without a result */
	OWNER_GANG, /* the same, and is not cancelled */
	/* A stream's, see pool_enqueue_own(). */
	OWNER_QUEUE,
};

/* The inside of drover_task_t. */
struct task {
	int (*function)(void *arg);
	void *arg;
	latch_word unended; /* how many threads have yet to run it */
	struct task *prev;  /* in the queue; [queue's lock] */
	struct task *next;
	_Atomic(struct queue *) queue; /* or NULL; written with its lock */
	int result;		       /* written before it has ended */
	uint32_t left;	/* how many threads may still take it; [queue's lock] */
	uint8_t owner;	/* constant */
	bool cancelled; /* not run to its end; written before it has ended */
	_Atomic bool accepted; /* once it was */
};

/* Tasks that nobody has begun. */
struct queue {
	struct lock lock;	      /* short sections without a system call */
	_Atomic(struct task *) first; /* the oldest; read without, as a hint */
	struct task *last;	      /* the newest; [lock] */
} __attribute__((aligned(128)));

/* The first 24 bytes of the kernel's struct sched_attr are what a thread inherits. */
struct scheduling {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t deadline[3]; /* 0: nobody inherits that policy */
};

/* A thread of the pool. */
struct worker {
	struct queue
		queue; /* its submits: it takes the newest, others the oldest */
	struct drover_pool *pool;
	struct worker *next; /* constant, as are pool and nr */
	unsigned int nr;
	pthread_t thread;	  /* written with the lock of growing */
	futex_word parked;	  /* it may sleep, until it is claimed */
	struct worker *next_idle; /* [idle lock] */
	uint32_t takes;		  /* searches for a task; its own */
	struct worker *fair;	  /* whose queue had its turn; its own */
	struct task *found;	  /* by polling; its own */
	bool inherits; /* what its maker is; the maker's before it is */
	pid_t tid;
	int cpu;	/* where it was when it became idle; [idle lock] */
	int woken_from; /* the CPU of who woke it and is busy there, or -1 */
	/*
	 * From being claimed to not parked its claimer's, otherwise its own; its
	 * maker's before it is:
	 */
	bool moved;	   /* to be put back when it wakes up */
	cpu_set_t allowed; /* the affinity to be put back, or to begin with */
	cpu_set_t lent;	   /* the one that it wakes up with */
	struct poll_account account; /* for polling for tasks */
	/* Written by the worker alone. */
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

/* What a pool keeps of the calling thread. */
struct here {
	struct worker *worker;	     /* that it is, or NULL */
	struct frame *top;	     /* the innermost task or loop */
	uintptr_t stack;	     /* its lowest address, or 0 */
	size_t half;		     /* of its bytes, see nest.c */
	struct poll_account account; /* for waiting for tasks */
};

extern _Thread_local struct here pool_here;

/* drover_pool.ending */
enum {
	POOL_OPEN,
	POOL_DRAINS,
	POOL_CANCELS,
	POOL_OVER, /* workers shall end */
};

/*
 * nr_queued, nr_searching, nr_active and nr_idle decide together whether to wake
 * and whether to sleep. See wake_if_needed().
 */
struct drover_pool {
	drover_poolattr_t attr; /* copies of what name and cpu_sets point to */
	char name[11];
	_Atomic int64_t linger[2]; /* at most; on big CPUs and on small ones */
	uint32_t generation;	   /* of forks */
	struct scheduling scheduling; /* the creator's; size 0: as it comes */

	struct queue injected; /* by threads that are no workers */

	/* Tasks in all queues; changed with the queue's lock. */
	_Atomic uint32_t nr_queued __attribute__((aligned(128)));
	/* Workers that search for a task, or are claimed and on their way. */
	_Atomic uint32_t nr_searching;
	_Atomic uint32_t nr_active;  /* see above */
	_Atomic uint32_t nr_workers; /* how many may be active */

	/* Of the list of workers that sleep or are about to, the latest first. */
	struct lock idle_lock __attribute__((aligned(128)));
	struct worker *idle;
	_Atomic uint32_t nr_idle; /* written with the lock */
	_Atomic uint32_t polling; /* somebody polls for a task */
	_Atomic uint64_t wakes;
	_Atomic uint32_t look_after; /* so many wake-ups, see place.c */
	_Atomic uint64_t moves;

	/* Of making threads. */
	struct lock grow __attribute__((aligned(128)));
	_Atomic(struct worker *) threads; /* only grow; written with grow */
	_Atomic uint32_t nr_threads;	  /* at work; written with grow */
	_Atomic int32_t nr_ready;	  /* of them, not blocked */
	_Atomic uint64_t blocks;
	cpu_set_t cpus;		  /* that workers have between them; [grow] */
	_Atomic uint32_t nr_cpus; /* as many, or as the cgroup's limit leaves */
	_Atomic int64_t looked_at;  /* when that was */
	_Atomic uint32_t wanted;    /* nr_workers is to be; 0: nr_cpus */
	_Atomic uint32_t nr_ganged; /* that gangs need; written with grow */

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
 * So many workers are woken by whoever has queued tasks, and by each that is woken:
 * a tree.
 */
#define WAKE_AT_ONCE 2

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

/* As many threads as may be active, or as are wanted now: 0 or why not. */
int threads_fill(struct drover_pool *pool);
int threads_set(struct drover_pool *pool);
void threads_end(struct drover_pool *pool);

/*
 * Remember the affinity and the policy of the calling thread, the creator; give them to
 * the calling thread, the new worker @w.
 */
void remember_creator(struct drover_pool *pool);
void begin_as_creator(struct worker *w);

/*
 * Keep @nr workers for a gang, until it gives them back. Return: 0, or EAGAIN when
 * so many are not left.
 */
int threads_keep(struct drover_pool *pool, size_t nr);
void threads_give_back(struct drover_pool *pool, size_t nr);

/* Are threads left that are not blocked, and as many as gangs need? */
bool threads_suffice(struct drover_pool *pool);

/* Is any thread left? If not, one is made. */
bool threads_any(struct drover_pool *pool);

/*
 * The caller ends. Return: is another thread @w now, or does the pool end? If not,
 * there is one thread less.
 */
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
void latch_down(latch_word *latch, uint32_t nr);

/*
 * Until all have ended, or had at some moment since the call, or @deadline.
 * @must: as for block_begin(). Return: 0, ETIMEDOUT, EAGAIN.
 */
int latch_await(latch_word *latch, const struct deadline *deadline, bool must);

/* Until no task is left, or there was such a moment. */
void pool_await_none(struct drover_pool *pool);

/* Run a task that was taken, or cancel it. */
void task_run(struct drover_pool *pool, struct task *task, bool cancelled);

/*
 * nest.c: is more than half of the stack in use, by tasks on top of tasks? Then
 * have @task run on another stack, unless it has begun. Return: 0 or EAGAIN.
 */
bool stack_is_short(void);
int task_run_apart(struct drover_pool *pool, struct task *task);

/* Count tasks in, or refuse. Return: 0 or why not. */
int pool_admit(struct drover_pool *pool, uint32_t nr);

/*
 * Queue a list of tasks that were admitted, to be taken @nr times, and wake
 * workers. @busy: as for wake_if_needed()
 */
void pool_enqueue(struct drover_pool *pool, struct task *first,
		  struct task *last, uint32_t nr, bool busy);

/*
 * Queue one task that nobody waits for, and that may be queued again as soon as
 * its function says so, by the function, too. It is always accepted.
 */
void pool_enqueue_own(struct drover_pool *pool, struct task *task);

/* Is the caller a worker of @pool, or inside a task or loop of it? */
bool pool_inside(const struct drover_pool *pool);

#endif /* DROVER_POOL_INTERNAL_H */
