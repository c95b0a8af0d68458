/* SPDX-License-Identifier: MIT */
/*
 * drover_pool_t: threads that run tasks, and sleep when there is no task. The
 * threads are called the pool's workers. drover_pool(3) has an example.
 *
 * The library guarantees the following (how: Documentation/pool-design.rst):
 *  - Each accepted task runs once, unless it is cancelled. The task sees
 *    everything that was done before it was submitted. Each thread that has
 *    waited for the task sees everything that the task did.
 *  - A thread that waits without a deadline for a task runs the task itself if
 *    no thread has begun it. A waiting thread never runs any other task. If
 *    another thread has begun the task, the waiting thread sleeps. If a worker
 *    sleeps in a wait, another worker takes its place, so the number of running
 *    tasks stays the same. (drover_pool_wait() below has the exceptions.) So
 *    tasks that wait for other tasks do not deadlock, unless they wait in a
 *    circle.
 *  - Waits may nest: a task that a waiting thread runs may wait for another
 *    task. When such tasks have used half of a thread's stack, the pool makes a
 *    new thread for the next task in this chain of waits. The new thread runs
 *    only this task, and the waiting thread sleeps meanwhile.
 *  - Each worker has a queue for the tasks that its own tasks submit, and the
 *    pool has a queue for the tasks that other threads submit. A worker takes a
 *    task from the first of these queues that is not empty:
 *	1. its own queue: the newest task
 *	2. the pool's queue: the oldest task
 *	3. the queue of another worker: the oldest task
 *    But no task waits for ever, because a worker departs from this order for
 *    two of every 61 tasks. For one of the two it looks into the pool's queue
 *    first. For the other it looks into the queue of one worker first, the next
 *    time into that of the next worker, and so on. It takes the oldest task of
 *    the queue in both cases.
 *  - The pool needs no memory to accept a task: the task lies in the caller's
 *    memory.
 *  - At most one idle worker at a time polls for a task, for some microseconds,
 *    before it sleeps. Other idle workers sleep at once.
 *  - If a thread runs a task inside drover_pool_wait(), a C++ exception that
 *    leaves the task's function propagates to the caller of drover_pool_wait().
 *    Outside that call, in a worker or in a thread that was made for the task
 *    alone, the exception ends the program. If an exception or the end of the
 *    thread has ended the task's function, the task counts as cancelled for
 *    other threads that wait for it. (A task of drover/pool.hpp catches the
 *    exception, and the thread that waits for the task throws it again.)
 *
 * In all functions @pool is the pool, @task is a task that was submitted to
 * @pool, and @arg is the argument of @function; @attr may be NULL, for the
 * defaults.
 *
 * Functions return 0 or an errno value and do not change errno. If a function
 * blocks, its description says so. Other functions may still wait for an
 * internal lock that is held only briefly, or for the kernel when they make a
 * thread. No function is a cancellation point, but a task that the caller runs
 * may contain cancellation points. In the child of a fork a pool of the parent
 * has no threads. There, every function that takes a pool and returns an errno
 * value returns ECHILD, except drover_pool_free().
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
 * DROVER_TASK_INITIALIZER() or drover_task_init() makes a task. The task must
 * stay at its address from its submission until the task has ended. When a
 * thread has waited for the task, the task has certainly ended, and may be
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

/* A value for drover_poolattr_t.linger_us: workers do not poll. */
#define DROVER_POOL_NO_LINGER UINT32_MAX

/* The most workers of a pool, and the most spares. */
#define DROVER_POOL_MAX 4096u

/* A value for drover_poolattr_t.spares: no threads besides @workers. */
#define DROVER_POOL_NO_SPARES UINT32_MAX

/**
 * drover_poolattr_t - pool attributes
 * @workers: how many tasks run at a time, up to DROVER_POOL_MAX. 0: as many as
 *	     the pool has CPUs, or the CPU limit of the cgroup if that is lower.
 *	     At first the CPUs of a pool are those in the affinity of its
 *	     creator. Later a worker counts the CPUs on which at least one
 *	     worker of the pool may run; from then on these are the CPUs of the
 *	     pool. Each worker counts at every 61st search for a task, but all
 *	     workers together count at most once a second. (With @cpu_sets the
 *	     CPUs of the pool are always those of the creator.)
 * @linger_us: the longest that a worker polls for work before it sleeps, in
 *	       microseconds. 0: the library chooses. DROVER_POOL_NO_LINGER:
 *	       workers do not poll.
 * @linger_small_us: the same for the slower CPUs of a hybrid processor; here 0
 *		     stands for 10 microseconds
 * @spares: how many threads there may be in addition to @workers, to take the
 *	    places of workers that wait. 0: up to 256. DROVER_POOL_NO_SPARES:
 *	    none. Spare threads are made when they are needed, and stay.
 * @stack: bytes of stack for each worker; 0: the system's default
 * @name: workers are called @name-0, @name-1 and so on, with at most the first
 *	  ten characters of @name; NULL: "pool"
 * @nr_cpu_sets: length of @cpu_sets
 * @cpu_sets: array of cpu_set_t: worker number i runs on the CPUs of
 *	      @cpu_sets[i modulo @nr_cpu_sets]; NULL: all workers run on the
 *	      CPUs of the pool's creator. Workers that are made later get their
 *	      CPUs in the same way, and the creator's scheduling policy and
 *	      priority, as far as the system permits.
 * @start: called by each worker before its first task, or NULL
 * @stop: called by each worker after its last task, or NULL. Neither @start
 *	  nor @stop may wait for tasks.
 * @arg: for @start and @stop
 *
 * If all bytes are zero, the defaults apply. Workers block all signals except
 * those that an instruction of their own can raise, such as SIGSEGV. A process
 * that a task starts inherits this signal mask.
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
 * Return: 0; EINVAL for too many workers or spares, for CPUs that do not exist,
 * or for a stack that is too small; ENOMEM; EAGAIN when the system refuses a
 * thread. After an error no thread is left and @pool is not written.
 */
int drover_pool_create(drover_pool_t **pool, const drover_poolattr_t *attr);

/**
 * drover_pool_resize() - change how many tasks run at a time
 * @workers: as in drover_poolattr_t, so if it is 0, the number follows the CPUs
 *
 * If more than @workers tasks run, no new task begins until fewer than @workers
 * run.
 *
 * Return: 0; EINVAL for too many workers; EAGAIN or ENOMEM when the system
 * refuses a thread (the existing threads do the work then); ESHUTDOWN when
 * @pool was shut down.
 */
int drover_pool_resize(drover_pool_t *pool, uint32_t workers);

/**
 * drover_pool_set_linger() - change how long a worker without work polls
 * @us, @small_us: as drover_poolattr_t.linger_us and .linger_small_us
 *
 * The change takes effect the next time that a worker has no task. To turn
 * polling off, pass DROVER_POOL_NO_LINGER for both; to turn it on again, pass 0
 * for both.
 *
 * Return: 0.
 */
int drover_pool_set_linger(drover_pool_t *pool, uint32_t us, uint32_t small_us);

enum drover_pool_end {
	DROVER_POOL_DRAIN,  /* run all tasks first, and the tasks they submit */
	DROVER_POOL_CANCEL, /* tasks that no thread has begun are cancelled */
};

/**
 * drover_pool_shutdown() - end the tasks and the workers of @pool
 * @how: what happens to the tasks that have been accepted
 *
 * The call blocks until all workers have ended. A task that a thread has begun
 * runs to its end, and so does a loop (a call of drover_pool_for() or
 * drover_pool_loop()). From the beginning of the call on, the pool accepts no
 * more tasks, with one exception: with DROVER_POOL_DRAIN it accepts tasks that
 * a running task or loop submits.
 *
 * Return: 0; EALREADY when @pool was shut down before; EDEADLK inside a task or
 * loop of @pool; EINVAL for another @how.
 */
int drover_pool_shutdown(drover_pool_t *pool, enum drover_pool_end how);

/**
 * drover_pool_free() - give back the memory of a pool that was shut down
 * @pool: no thread may still be inside a function of this pool
 *
 * Return: 0 (always in the child of a fork); EBUSY when @pool was not shut down
 * (nothing is changed then).
 */
int drover_pool_free(drover_pool_t *pool);

/* drover_task_init() - make a task, as DROVER_TASK_INITIALIZER() does */
void drover_task_init(drover_task_t *task, int (*function)(void *arg),
		      void *arg);

/**
 * drover_pool_submit() - let a worker run @task
 *
 * The call wakes a worker only if the workers that are awake do not suffice.
 *
 * Return: 0; EINVAL when @task or its function is NULL; EBUSY when @task was
 * submitted and has not ended; ESHUTDOWN after drover_pool_shutdown(). After an
 * error nothing is changed.
 */
int drover_pool_submit(drover_pool_t *pool, drover_task_t *task);

/**
 * drover_pool_submit_batch() - submit all tasks of an array, or none
 * @nr: how many tasks the array has
 *
 * Return: as drover_pool_submit(), and EINVAL for more than 2^30 tasks. After
 * an error no task was accepted.
 */
int drover_pool_submit_batch(drover_pool_t *pool, drover_task_t *tasks,
			     size_t nr);

/**
 * drover_pool_post(), _post_or() - run a function for which no thread waits
 * @function: its result is ignored
 * @otherwise: NULL, or a function to be called if drover_pool_shutdown()
 *	       cancels @function. A worker, or the thread that shuts @pool down,
 *	       calls @otherwise, which must return normally.
 *
 * Return: as drover_pool_submit(), or ENOMEM.
 */
int drover_pool_post(drover_pool_t *pool, int (*function)(void *arg),
		     void *arg);
int drover_pool_post_or(drover_pool_t *pool, int (*function)(void *arg),
			void (*otherwise)(void *arg), void *arg);

/**
 * drover_pool_wait() - wait until @task has ended
 * @result: where to store what the task's function returned, or NULL
 *
 * The call blocks, or runs @task, as the beginning of this file says. If the
 * caller is a worker of another pool and sleeps, another worker of that other
 * pool takes its place there. Several threads may wait for one task if the task
 * is not submitted again meanwhile.
 *
 * Sometimes no thread can take the place of a waiting worker, because the limit
 * of drover_poolattr_t.spares is reached or the system refuses a thread. Then
 * the worker waits nevertheless, and fewer tasks run meanwhile. But if all
 * other workers are blocked in waits, the call fails with EAGAIN instead. It
 * also fails with EAGAIN if too few workers would be left for the pool's gangs.
 * (A gang is the threads of a loop that all run at the same time, see
 * drover_loop_t.) In any thread, worker or not, the call fails with EAGAIN if
 * half of the thread's stack is in use and the system refuses the new thread
 * that would run @task. EAGAIN changes nothing for @task: its memory is in use
 * until another wait for it has returned 0 or ECANCELED.
 *
 * Return: 0; ECANCELED when @task was cancelled, or when an exception or the
 * end of the thread ended its function (@result is not written then); EAGAIN;
 * EINVAL when @task was never submitted.
 */
int drover_pool_wait(drover_pool_t *pool, drover_task_t *task, int *result);

/**
 * drover_pool_clockwait() - drover_pool_wait() with a deadline
 * @clock: CLOCK_MONOTONIC or CLOCK_REALTIME
 * @deadline: absolute time on @clock
 *
 * The call blocks until @deadline at most. It never runs @task, because that
 * could take longer.
 *
 * Return: as drover_pool_wait(); ETIMEDOUT, and @task is still in use; EINVAL
 * for another clock, or nanoseconds out of range.
 */
int drover_pool_clockwait(drover_pool_t *pool, drover_task_t *task,
			  clockid_t clock, const struct timespec *deadline,
			  int *result);

/*
 * drover_pool_test() - as drover_pool_wait(), but when @task has not ended, the
 * call returns EBUSY and does not wait
 */
int drover_pool_test(drover_pool_t *pool, drover_task_t *task, int *result);

/**
 * drover_pool_wait_all() - block until a moment at which no task is left
 *
 * Posted functions and loops count as tasks. Return: 0; EDEADLK inside a task
 * or loop of @pool.
 */
int drover_pool_wait_all(drover_pool_t *pool);

/**
 * drover_pool_cancel() - cancel @task if no thread has begun it
 *
 * Return: 0, and threads that wait for @task get ECANCELED; EBUSY when @task is
 * running or has ended; EINVAL when @task was never submitted. After an error
 * nothing is changed.
 */
int drover_pool_cancel(drover_pool_t *pool, drover_task_t *task);

/**
 * drover_pool_for() - call a function for all parts of a range
 * @grain: the largest number of indices in one call; 0: the library chooses
 * @function: called for each part [begin, end); returns 0 to go on
 *
 * The call blocks. The parts run in the caller and in free workers. On n CPUs
 * at most n - 1 workers take part, but on a single CPU at most one does. If the
 * pool has been shut down or all workers are busy, all parts run in the caller.
 * A thread gets its next part when it has finished the part before. If parts
 * sleep, drover_pool_loop() can use more threads.
 *
 * If an exception or a thread cancellation ends a call of @function in the
 * caller, no more parts begin. When the running parts have ended, the exception
 * or the cancellation goes on. If another thread ends during a call of
 * @function, the result is ECANCELED. drover_pool_for() allocates no memory.
 *
 * Return: 0; or the result of the first call of @function that did not return 0
 * (parts that no thread had begun by then do not run); EINVAL if @function is
 * NULL.
 */
int drover_pool_for(drover_pool_t *pool, size_t begin, size_t end, size_t grain,
		    int (*function)(size_t begin, size_t end, void *arg),
		    void *arg);

/**
 * drover_part_t - a thread that takes part in a loop
 * @thread: the number of the thread; the caller has number 0
 * @threads: how many numbers there are, from 0 to @threads - 1; constant during
 *	     one loop. Some numbers may stay unused, because fewer threads take
 *	     part.
 * @scratch: the thread's own memory, see drover_loop_t
 */
typedef struct {
	unsigned int thread;
	unsigned int threads;
	void *scratch;
} drover_part_t;

/**
 * drover_loop_t - a loop whose threads have numbers and memory of their own
 * @function: called for each part; returns 0 to go on
 * @arg: for @function and @join
 * @grain: as for drover_pool_for()
 * @threads: how many threads take part at most, including the caller; 0: as
 *	     in drover_pool_for()
 * @gang: 0: an ordinary loop. Any other value: exactly @threads threads, the
 *	  gang, take part, all at the same time. So they may wait for each
 *	  other, for example at a barrier. Each of them calls @function once,
 *	  for its share of the range, which may be empty. A gang ignores @grain.
 * @scratch: how many bytes of memory each thread gets for the whole loop,
 *	     aligned to 64
 * @total: NULL, or @scratch bytes of the caller's memory. Each thread's scratch
 *	   memory begins as a copy of @total, or as zeroes if @total is NULL. At
 *	   the end @join adds this memory to @total. So for a sum, @total has to
 *	   contain zeroes before the loop: otherwise what it contains is added
 *	   once more for each thread.
 * @join: NULL, or a function that adds the scratch memory of one thread to
 *	  @total. After all parts the caller calls it once for each thread, in
 *	  the order of the threads' numbers. Except in a gang, the parts of a
 *	  thread differ from run to run. So a floating-point sum may differ,
 *	  too.
 *
 * Fields that are not set have to be zero.
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
 * drover_pool_loop() - drover_pool_for() with a drover_loop_t
 *
 * The call blocks. From its beginning to its end a gang keeps the workers that
 * it needs, so the pool does not shrink below their number. Meanwhile two other
 * calls may get EAGAIN: drover_pool_loop() for another gang, because too few
 * workers are left, and drover_pool_wait() in a worker, because no other worker
 * can take the worker's place. All shares of a gang run, even if @function
 * returns an error for one share, and even if the pool is shut down with
 * DROVER_POOL_CANCEL.
 *
 * A worker joins a gang only when its current task has ended. So a task must
 * not wait, for example on a semaphore, for the end of a gang that another
 * thread has begun: the gang may need the worker that runs this task. Instead,
 * let one task call drover_pool_loop(), and let other tasks wait for that task
 * in drover_pool_wait() or drover_pool_clockwait(). In these calls a worker
 * gives its place to another worker, which can join the gang.
 *
 * Return: as drover_pool_for(); ENOMEM when there is no memory for the scratch;
 * EINVAL for a @join without @total, or for @gang without @threads. A gang gets
 * ESHUTDOWN in the same cases as drover_pool_submit(), and EAGAIN if @pool has
 * too few workers for it. The caller is one of the @threads threads of the
 * gang, and all others are workers of @pool. So the gang needs @threads - 1
 * workers besides the caller, which may itself be a worker of @pool. Workers
 * that other gangs keep are not available for it, and neither are workers that
 * wait and cannot be replaced. After ENOMEM, EINVAL, ESHUTDOWN or EAGAIN no
 * part has run. @join is called only if the result is 0.
 */
int drover_pool_loop(drover_pool_t *pool, size_t begin, size_t end,
		     const drover_loop_t *loop);

/* drover_poolstats_t - what a pool has done since it was created */
typedef struct {
	uint64_t workers;     /* how many tasks may run at a time */
	uint64_t tasks;	      /* tasks that ran */
	uint64_t cancelled;   /* tasks that were cancelled before they ran */
	uint64_t steals;      /* tasks taken out of another worker's queue */
	uint64_t helped;      /* tasks run by threads that are not workers */
	uint64_t sleeps;      /* how often a worker went to sleep */
	uint64_t wakes;	      /* wake-ups of workers */
	uint64_t linger_ns;   /* how long workers have polled for work */
	uint64_t queued_most; /* most tasks queued at one time */
	uint64_t moves;	      /* wake-ups kept off the waking thread's CPU */
	uint64_t threads;     /* all threads, including spares */
	uint64_t blocks;      /* waits in which a worker gave its place away */
	uint64_t reserved[4];
} drover_poolstats_t;

/* drover_pool_stats() - get the counts, which are exact when no task is left */
void drover_pool_stats(drover_pool_t *pool, drover_poolstats_t *stats);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DROVER_POOL_H */
