/* SPDX-License-Identifier: MIT */
/*
 * drover_pool_t: threads that run tasks, and burn no CPU time when there are
 * none.
 *
 *	drover_pool_t *pool;
 *	drover_task_t task = DROVER_TASK_INITIALIZER(function, argument);
 *	int result;
 *
 *	drover_pool_create(&pool, NULL);
 *	drover_pool_submit(pool, &task);
 *	...
 *	drover_pool_wait(pool, &task, &result);
 *	drover_pool_shutdown(pool, DROVER_POOL_DRAIN);
 *	drover_pool_free(pool);
 *
 * What holds (Documentation/pool-design.rst says how):
 *  - Each task that was accepted runs once, unless it is cancelled; what was
 *    done before it was submitted is seen by it, and what it did is seen by
 *    whoever has waited for it.
 *  - Tasks may submit tasks and wait for them. A worker that waits runs other
 *    tasks meanwhile, so pools do not lock up for want of workers; any thread
 *    that waits for a task that nobody has begun runs that task itself.
 *  - To accept a task needs no memory: it lies in the caller's.
 *  - Of the workers without work at most one looks out for some, for
 *    microseconds; the others, and soon that one, sleep.
 *
 * Functions return 0 or an errno value and leave errno alone. None is a
 * cancellation point, though a task that the caller runs itself may have some. In
 * the child of a fork a pool of the parent has no threads: all functions answer
 * ECHILD, but for drover_pool_free().
 */
#ifndef DROVER_POOL_H
#define DROVER_POOL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

typedef struct drover_pool drover_pool_t;

/**
 * drover_task_t - something to run; the content is private to the library
 *
 * Made by DROVER_TASK_INITIALIZER() or drover_task_init(). From its submission
 * until it was waited for it must stay where it is. After that it may be
 * submitted again.
 */
typedef struct {
	int (*function)(void *arg);
	void *arg;
	uint64_t reserved[6];
} drover_task_t;

/* clang-format off */
#define DROVER_TASK_INITIALIZER(function, arg) { function, arg, { 0 } }
/* clang-format on */

/* drover_poolattr_t.flags */
#define DROVER_POOL_PIN 0x1u /* each worker on a CPU of its own, in turn */

/* drover_poolattr_t.linger_us: do not linger */
#define DROVER_POOL_NO_LINGER UINT32_MAX

/* The most workers of a pool. */
#define DROVER_POOL_MAX 4096u

/**
 * drover_poolattr_t - pool attributes
 * @flags: DROVER_POOL_*
 * @workers: how many threads, to DROVER_POOL_MAX; 0: as many as the CPUs that
 *	     the affinity of the calling thread and its cgroup's limit leave
 * @linger_us: how long one worker without work looks out for some before it
 *	       sleeps, in microseconds; 0: as the library thinks fit (10);
 *	       DROVER_POOL_NO_LINGER
 * @linger_small_us: the same on the slower CPUs of a hybrid processor; 0: half
 * @stack: bytes of stack for each worker; 0: the system's default
 * @name: workers are called @name-0, @name-1 ...; NULL: "pool". Linux shows 15
 *	  characters of it.
 *
 * All zero bytes are the defaults.
 */
typedef struct {
	uint32_t flags;
	uint32_t workers;
	uint32_t linger_us;
	uint32_t linger_small_us;
	size_t stack;
	const char *name;
	uint64_t reserved[2];
} drover_poolattr_t;

/**
 * drover_pool_create() - start the workers of a new pool
 * @pool: where the pool goes
 * @attr: attributes, or NULL for the defaults
 *
 * Never blocks, but for what it takes to make threads.
 *
 * Return: 0; EINVAL for an unknown flag, too many workers, or a stack that is too
 * small; ENOMEM; EAGAIN when the system refuses a thread. Then no thread is left
 * and @pool is not written.
 */
int drover_pool_create(drover_pool_t **pool, const drover_poolattr_t *attr);

enum drover_pool_end {
	DROVER_POOL_DRAIN, /* all tasks run first, and those that they submit */
	DROVER_POOL_CANCEL, /* tasks that nobody has begun are cancelled */
};

/**
 * drover_pool_shutdown() - accept no more tasks, and end the workers
 * @pool: the pool
 * @how: what becomes of the tasks that are there
 *
 * Blocks until all workers have ended. Tasks that are running run to their end;
 * with DRAIN their own submits are accepted, with CANCEL not.
 *
 * Return: 0; EALREADY when it was called before; EDEADLK from a task of @pool;
 * EINVAL for another @how; ECHILD.
 */
int drover_pool_shutdown(drover_pool_t *pool, enum drover_pool_end how);

/**
 * drover_pool_free() - give back the memory of a pool that was shut down
 * @pool: a pool that no call is inside of any more
 *
 * Never blocks. Return: 0; EBUSY when @pool was not shut down (nothing is
 * changed then). In the child of a fork: 0, whatever the parent did.
 */
int drover_pool_free(drover_pool_t *pool);

/* drover_task_init() - as DROVER_TASK_INITIALIZER. Never blocks, never fails. */
void drover_task_init(drover_task_t *task, int (*function)(void *arg),
		      void *arg);

/**
 * drover_pool_submit() - let a worker run @task
 * @pool: the pool
 * @task: to be waited for before its memory is used for something else
 *
 * Never blocks, but for a short internal lock. Wakes a worker only if those
 * awake do not suffice.
 *
 * Return: 0; EINVAL when @task or its function is NULL; EBUSY when it was
 * submitted and has not ended; ESHUTDOWN after drover_pool_shutdown(); ECHILD.
 * Nothing is changed then.
 */
int drover_pool_submit(drover_pool_t *pool, drover_task_t *task);

/**
 * drover_pool_submit_batch() - drover_pool_submit() for several, or for none
 * @pool: the pool
 * @tasks: an array
 * @nr: how many tasks
 *
 * Never blocks. Return: as drover_pool_submit(); unless 0, none was accepted.
 */
int drover_pool_submit_batch(drover_pool_t *pool, drover_task_t *tasks,
			     size_t nr);

/**
 * drover_pool_post() - run a function that nobody will wait for by itself
 * @pool: the pool
 * @function: its result goes nowhere
 * @arg: for @function
 *
 * Never blocks, but for locks. Return: as drover_pool_submit(), or ENOMEM.
 */
int drover_pool_post(drover_pool_t *pool, int (*function)(void *arg),
		     void *arg);

/**
 * drover_pool_wait() - wait until @task has ended
 * @pool: the pool that it was submitted to
 * @task: a task
 * @result: what its function returned goes there, unless NULL
 *
 * Blocks. A task that nobody has begun is run by the caller. A worker runs other
 * tasks while it waits. Several threads may wait for one task, provided that it
 * is not submitted again meanwhile.
 *
 * Return: 0; ECANCELED when it was cancelled (@result is not written); EINVAL
 * when @task was never submitted; ECHILD.
 */
int drover_pool_wait(drover_pool_t *pool, drover_task_t *task, int *result);

/**
 * drover_pool_wait_all() - wait until no task is left
 * @pool: the pool
 *
 * Blocks until there is a moment at which no accepted task is left, posted ones
 * included.
 *
 * Return: 0; EDEADLK from a task of @pool; ECHILD.
 */
int drover_pool_wait_all(drover_pool_t *pool);

/**
 * drover_pool_cancel() - do not run @task, if nobody has begun
 * @pool: the pool that it was submitted to
 * @task: a task
 *
 * Never blocks. Who waits for @task gets ECANCELED.
 *
 * Return: 0; EBUSY when it is running or has ended, EINVAL when it was never
 * submitted (nothing is changed then); ECHILD.
 */
int drover_pool_cancel(drover_pool_t *pool, drover_task_t *task);

/**
 * drover_pool_for() - call a function for all parts of a range
 * @pool: the pool
 * @begin: first index
 * @end: one behind the last index
 * @grain: most indices of one call, 0: as the library thinks fit
 * @function: called for parts [begin, end); 0 to go on
 * @arg: for @function
 *
 * Blocks. The caller does its share, and all of it if the pool has been shut
 * down or all workers are busy. Parts are given out as threads become free. No
 * more workers than there are other CPUs take part in the first millisecond.
 *
 * Return: 0, or what the first call of @function that did not return 0 has
 * returned (parts that nobody has begun are then left out); EINVAL when
 * @function is NULL; ECHILD.
 */
int drover_pool_for(drover_pool_t *pool, size_t begin, size_t end, size_t grain,
		    int (*function)(size_t begin, size_t end, void *arg),
		    void *arg);

/**
 * drover_poolstats_t - what a pool has done since it was created
 * @workers: threads
 * @tasks: tasks that ran
 * @cancelled: tasks that did not
 * @steals: tasks that a worker took out of another one's queue
 * @helped: tasks that a waiting thread, no worker, ran itself
 * @sleeps: how often a worker went to sleep
 * @wakes: how often a submit or a worker woke one
 * @linger_ns: time spent looking out for work, nanoseconds, of all workers
 * @queued_most: the most tasks that were queued at one time
 * @moves: how often a worker was woken off the CPU of the thread that woke it
 */
typedef struct {
	uint64_t workers;
	uint64_t tasks;
	uint64_t cancelled;
	uint64_t steals;
	uint64_t helped;
	uint64_t sleeps;
	uint64_t wakes;
	uint64_t linger_ns;
	uint64_t queued_most;
	uint64_t moves;
	uint64_t reserved[6];
} drover_poolstats_t;

/* drover_pool_stats() - count; exact when no task is left. Never blocks. */
void drover_pool_stats(drover_pool_t *pool, drover_poolstats_t *stats);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DROVER_POOL_H */
