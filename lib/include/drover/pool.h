/* SPDX-License-Identifier: MIT */
/*
 * drover_pool_t: threads that run tasks, and burn no CPU time when there are
 * none. drover_pool(3) has an example.
 *
 * What holds (Documentation/pool-design.rst says how):
 *  - Each task that was accepted runs once, unless it is cancelled; what was
 *    done before it was submitted is seen by it, and what it did is seen by
 *    whoever has waited for it.
 *  - A thread that waits for a task which nobody has begun runs it itself, and
 *    never any other. If somebody has, it sleeps. A worker that sleeps so gives
 *    its place to another one: the number of tasks that run stays the same. So
 *    no program deadlocks whose tasks wait for each other without a circle.
 *  - Waits may nest: when tasks that run on top of tasks have used half of a
 *    stack, a thread that is made for the next one runs it and ends, while the
 *    thread that waits for it sleeps.
 *  - Of every 61 tasks that a worker takes one is the oldest of the queue of
 *    those that other threads submitted, and one the oldest of a worker's
 *    queue, each worker's in turn: none waits for ever.
 *  - To accept a task needs no memory: it lies in the caller's.
 *  - Of the workers without work at most one polls for some, for
 *    microseconds; the others, and soon that one, sleep.
 *  - A task whose function is left by an exception or by the end of its thread
 *    counts as cancelled for others that wait for it. If a thread that waits
 *    runs it, the exception goes on to that thread's caller. In a worker, and
 *    in a thread made for one task, a C++ exception ends the program;
 *    drover/pool.hpp keeps it for who waits.
 *
 * In all functions @pool is the pool, @task a task that was submitted to it, and
 * @arg is for @function; @attr may be NULL, for the defaults.
 *
 * Functions return 0 or an errno value, leave errno alone, and block only where
 * they say so, but for short internal locks and to make threads. None is a
 * cancellation point, though a task that the caller runs itself may have some. In
 * the child of a fork a pool of the parent has no threads: all functions answer
 * ECHILD, but for drover_pool_free().
 */
#ifndef DROVER_POOL_H
#define DROVER_POOL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct timespec; /* which strict C99 does not declare */

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

/* drover_poolattr_t.linger_us: do not linger */
#define DROVER_POOL_NO_LINGER UINT32_MAX

/* The most workers of a pool. */
#define DROVER_POOL_MAX 4096u

/* drover_poolattr_t.spares: no thread more than workers */
#define DROVER_POOL_NO_SPARES UINT32_MAX

/**
 * drover_poolattr_t - pool attributes
 * @workers: how many tasks run at a time, to DROVER_POOL_MAX; 0: as many as the
 *	     CPUs that the affinity of the calling thread and its cgroup's limit
 *	     leave, also when that limit changes, or the affinity of all workers: a
 *	     worker looks with each 61st task, but not twice in a second
 * @linger_us: how long one worker without work polls for some before it
 *	       sleeps, in microseconds, at most; 0: as the library thinks fit;
 *	       DROVER_POOL_NO_LINGER
 * @linger_small_us: the same on the slower CPUs of a hybrid processor; 0: 10
 * @spares: how many threads more than workers there may be, to take the places
 *	    of workers that wait; 0: 256; DROVER_POOL_NO_SPARES. They are made
 *	    when they are needed, and stay.
 * @stack: bytes of stack for each worker; 0: the system's default
 * @name: workers are called @name-0, @name-1 ..., with its first ten characters;
 *	  NULL: "pool"
 * @nr_cpu_sets: length of @cpu_sets
 * @cpu_sets: array of cpu_set_t: worker number i runs on the CPUs of
 *	      @cpu_sets[i modulo @nr_cpu_sets]; NULL: on its creator's. A worker
 *	      that is made later, whoever makes it, also begins with its creator's
 *	      policy and priority, as far as the system permits.
 * @start: called by each worker before its first task, or NULL
 * @stop: called by each worker after its last one, or NULL. Neither may wait for
 *	  tasks.
 * @arg: for both
 *
 * All zero bytes are the defaults. Workers block all signals but those that an
 * instruction of their own can raise; a process that a task starts inherits that.
 */
typedef struct {
	uint32_t workers;
	uint32_t linger_us;
	uint32_t linger_small_us;
	uint32_t spares;
	size_t stack;
	const char *name;
	uint32_t nr_cpu_sets;
	const void *cpu_sets;
	void (*start)(unsigned int worker, void *arg);
	void (*stop)(unsigned int worker, void *arg);
	void *arg;
	uint64_t reserved[2];
} drover_poolattr_t;

/**
 * drover_pool_create() - start the workers of a new pool
 *
 * Return: 0; EINVAL for too many workers or spares, CPUs that there are not, or a
 * stack that is too small; ENOMEM; EAGAIN when the system refuses a thread. Then no
 * thread is left and @pool is not written.
 */
int drover_pool_create(drover_pool_t **pool, const drover_poolattr_t *attr);

/**
 * drover_pool_resize() - change how many tasks run at a time
 * @workers: as in drover_poolattr_t; 0: as many as CPUs, from now on
 *
 * If more tasks than @workers run, no new ones begin until there are fewer.
 *
 * Return: 0; EINVAL for too many; EAGAIN or ENOMEM when the system refuses a
 * thread (those that there are do the work); ESHUTDOWN.
 */
int drover_pool_resize(drover_pool_t *pool, uint32_t workers);

/**
 * drover_pool_set_linger() - change how long a worker without work polls for some
 * @us, @small_us: as drover_poolattr_t.linger_us and .linger_small_us
 *
 * It counts from the next time that a worker has no task. DROVER_POOL_NO_LINGER for
 * both turns polling off, and 0 for both on again. Return: 0.
 */
int drover_pool_set_linger(drover_pool_t *pool, uint32_t us, uint32_t small_us);

enum drover_pool_end {
	DROVER_POOL_DRAIN, /* all tasks run first, and those that they submit */
	DROVER_POOL_CANCEL, /* tasks that nobody has begun are cancelled */
};

/**
 * drover_pool_shutdown() - accept no more tasks, and end the workers
 * @how: what becomes of the tasks that are there
 *
 * Blocks until all workers have ended. Tasks that are running run to their end,
 * whoever runs them, and so do loops; with DRAIN their own submits are accepted,
 * with CANCEL not.
 *
 * Return: 0; EALREADY when it was called before; EDEADLK inside a task or loop
 * of @pool; EINVAL for another @how.
 */
int drover_pool_shutdown(drover_pool_t *pool, enum drover_pool_end how);

/**
 * drover_pool_free() - give back the memory of a pool that was shut down
 * @pool: a pool that no call is inside of any more
 *
 * Return: 0, in the child of a fork whatever the parent did; EBUSY when @pool
 * was not shut down (nothing is changed then).
 */
int drover_pool_free(drover_pool_t *pool);

/* drover_task_init() - as DROVER_TASK_INITIALIZER */
void drover_task_init(drover_task_t *task, int (*function)(void *arg),
		      void *arg);

/**
 * drover_pool_submit() - let a worker run @task
 *
 * Wakes a worker only if those awake do not suffice.
 *
 * Return: 0; EINVAL when @task or its function is NULL; EBUSY when it was
 * submitted and has not ended; ESHUTDOWN after drover_pool_shutdown(). Nothing
 * is changed then.
 */
int drover_pool_submit(drover_pool_t *pool, drover_task_t *task);

/**
 * drover_pool_submit_batch() - drover_pool_submit() for several, or for none
 *
 * Return: as drover_pool_submit(), and EINVAL for more than 2^30; unless 0,
 * none was accepted.
 */
int drover_pool_submit_batch(drover_pool_t *pool, drover_task_t *tasks,
			     size_t nr);

/**
 * drover_pool_post(), _post_or() - run a function that nobody will wait for
 * @function: its result goes nowhere
 * @otherwise: called by whoever cancels it, and is to return; NULL: nothing is
 *
 * Return: as drover_pool_submit(), or ENOMEM.
 */
int drover_pool_post(drover_pool_t *pool, int (*function)(void *arg),
		     void *arg);
int drover_pool_post_or(drover_pool_t *pool, int (*function)(void *arg),
			void (*otherwise)(void *arg), void *arg);

/**
 * drover_pool_wait() - wait until @task has ended
 * @result: what its function returned goes there, unless NULL
 *
 * Blocks, or runs @task, as said above; a worker of another pool gives its
 * place away, too. Several threads may wait for one task, provided that it is
 * not submitted again meanwhile.
 *
 * Without a thread that could take its place (the bound of
 * drover_poolattr_t.spares is reached, or the system refuses one), a worker
 * waits all the same while others can run, and fewer run then. The last one gets
 * EAGAIN instead: the task goes on, and is still to be waited for. Any thread
 * gets EAGAIN when half of its stack is in use, and the system refuses another.
 *
 * Return: 0; ECANCELED when it was cancelled, or left without a result (@result
 * is not written); EAGAIN; EINVAL when @task was never submitted.
 */
int drover_pool_wait(drover_pool_t *pool, drover_task_t *task, int *result);

/**
 * drover_pool_clockwait() - the same, to a deadline
 * @clock: CLOCK_MONOTONIC or CLOCK_REALTIME
 * @deadline: on @clock
 *
 * Blocks until then. The caller never runs @task: that could take longer.
 *
 * Return: as drover_pool_wait(); ETIMEDOUT, and @task is still to be waited for;
 * EINVAL for another clock, or nanoseconds out of range.
 */
int drover_pool_clockwait(drover_pool_t *pool, drover_task_t *task,
			  clockid_t clock, const struct timespec *deadline,
			  int *result);

/* drover_pool_test() - drover_pool_wait(), but EBUSY if @task has not ended */
int drover_pool_test(drover_pool_t *pool, drover_task_t *task, int *result);

/**
 * drover_pool_wait_all() - block until a moment at which no task is left
 *
 * Posted ones and loops count, too. Return: 0; EDEADLK inside a task or loop of
 * @pool.
 */
int drover_pool_wait_all(drover_pool_t *pool);

/**
 * drover_pool_cancel() - do not run @task, if nobody has begun
 *
 * Return: 0, and who waits for @task gets ECANCELED; EBUSY when it is running
 * or has ended, EINVAL when it was never submitted (nothing is changed then).
 */
int drover_pool_cancel(drover_pool_t *pool, drover_task_t *task);

/**
 * drover_pool_for() - call a function for all parts of a range
 * @grain: most indices of one call, 0: as the library thinks fit
 * @function: called for parts [begin, end); 0 to go on
 *
 * Blocks. The caller does its share, and all of it if the pool has been shut
 * down or all workers are busy. Parts are given out as threads become free. As
 * many threads take part as there are CPUs: if parts sleep, more are of use, see
 * drover_pool_loop().
 *
 * If the caller's share is left by an exception or a cancellation, no more parts
 * begin, and those that run end first; if another one's is, by the end of its
 * thread, the result is ECANCELED. It needs no memory.
 *
 * Return: 0, or what the first call of @function that did not return 0 has
 * returned (parts that nobody has begun are then left out); EINVAL without one.
 */
int drover_pool_for(drover_pool_t *pool, size_t begin, size_t end, size_t grain,
		    int (*function)(size_t begin, size_t end, void *arg),
		    void *arg);

/* drover_part_t - a thread that takes part in a loop */
typedef struct {
	unsigned int thread;  /* its own number; that of the caller is 0 */
	unsigned int threads; /* above all numbers; the same in all parts */
	void *scratch;	      /* memory of its own, see drover_loop_t */
} drover_part_t;

/**
 * drover_loop_t - a loop whose threads have numbers and memory of their own
 * @function: called for parts; 0 to go on
 * @arg: for @function and @join
 * @grain: as for drover_pool_for()
 * @threads: most that take part, the caller included; 0: as many as CPUs
 * @gang: unless 0, exactly @threads take part, all at the same time, and each calls
 *	  @function once, for its share of the range, which may be empty: so they may
 *	  wait for each other, as at a barrier. @grain does not count then.
 * @scratch: bytes that each thread gets, aligned to 64, for the whole loop
 * @total: what is in each scratch at first, @scratch bytes: for a sum, zeroes;
 *	   NULL: zeroes
 * @join: unless NULL, called by the caller after all parts, for each thread's
 *	  scratch in the order of their numbers, to add it to @total. Which parts a
 *	  thread has had differs from run to run.
 *
 * Fields that are not set are to be zero.
 */
typedef struct {
	int (*function)(size_t begin, size_t end, const drover_part_t *part,
			void *arg);
	void *arg;
	size_t grain;
	unsigned int threads;
	unsigned int gang;
	size_t scratch;
	void *total;
	void (*join)(void *total, const void *scratch, void *arg);
	uint64_t reserved[2];
} drover_loop_t;

/**
 * drover_pool_loop() - drover_pool_for() with more to say
 *
 * Blocks. From its beginning to its end a gang keeps the workers that it needs: the
 * pool gets no smaller than that, other gangs may be refused, and so may waits. All
 * shares run, whatever others return, and with DROVER_POOL_CANCEL, too. Workers come
 * to the gang when the tasks that they run have ended; such a task may wait for the
 * gang by drover_pool_wait(), and by no other means.
 *
 * Return: as drover_pool_for(), and then @loop->join is not called unless it is 0;
 * ENOMEM when there is no memory for the scratch; EINVAL when @join is there without
 * @total, or @gang without @threads. A gang is also told ESHUTDOWN, or EAGAIN: it
 * needs @threads - 1 workers (@threads, if the caller is one), and fewer are left
 * without those of other gangs and those that wait and cannot be replaced. In all
 * these cases no part has run.
 */
int drover_pool_loop(drover_pool_t *pool, size_t begin, size_t end,
		     const drover_loop_t *loop);

/* drover_poolstats_t - what a pool has done since it was created */
typedef struct {
	uint64_t workers;     /* how many tasks may run at a time */
	uint64_t tasks;	      /* that ran */
	uint64_t cancelled;   /* tasks that did not */
	uint64_t steals;      /* tasks taken out of another worker's queue */
	uint64_t helped;      /* tasks run by a thread that waits, no worker */
	uint64_t sleeps;      /* of workers */
	uint64_t wakes;	      /* of workers, by submits and workers */
	uint64_t linger_ns;   /* that workers have polled for work */
	uint64_t queued_most; /* tasks at one time */
	uint64_t moves;	      /* wake-ups off the CPU of who woke */
	uint64_t threads;     /* spares included */
	uint64_t blocks;      /* waits of workers that gave their place away */
	uint64_t reserved[4];
} drover_poolstats_t;

/* drover_pool_stats() - count; exact when no task is left */
void drover_pool_stats(drover_pool_t *pool, drover_poolstats_t *stats);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DROVER_POOL_H */
