/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tasks.h - the pool of a test, and tasks whose course the test decides
 */
#pragma once

#include <dlfcn.h>

#include <drover/pool.h>

#include "blocked.h"
#include "run.h"

static drover_pool_t *pool;
static atomic_int gate, nr_begun, nr_run, sleeper;

static inline void begin_with(drover_poolattr_t attr)
{
	gate = nr_begun = nr_run = sleeper = 0;
	MUST(drover_pool_create(&pool, &attr));
}

static inline void begin(unsigned int nr_workers)
{
	begin_with((drover_poolattr_t){ .workers = nr_workers });
}

static inline void end(void)
{
	MUST(drover_pool_shutdown(pool, DROVER_POOL_DRAIN));
	MUST(drover_pool_free(pool));
}

static inline drover_poolstats_t stats_of(drover_pool_t *of)
{
	drover_poolstats_t stats;

	drover_pool_stats(of, &stats);
	return stats;
}

/* ---- functions of tasks ---- */

static inline int answer(void *arg)
{
	return (int)(intptr_t)arg;
}

static inline int count(void *arg)
{
	nr_run++;
	return 0;
}

static inline int hold(void *arg)
{
	nr_begun++;
	reached(&gate, 1);
	return 0;
}

/* The thread that runs it waits for the task @arg. */
static inline int wait_for(void *arg)
{
	sleeper = blocked_gettid();
	return drover_pool_wait(pool, arg, NULL);
}

/* submit - set up a task, and submit it; it must be accepted */
static inline void submit(drover_task_t *task, int (*function)(void *arg),
			  void *arg)
{
	drover_task_init(task, function, arg);
	MUST(drover_pool_submit(pool, task));
}

/* submit_held - submit a task that a thread has begun when this returns */
static inline void submit_held(drover_task_t *task)
{
	int before = nr_begun;

	submit(task, hold, NULL);
	reached(&nr_begun, before + 1);
}

/*
 * For a thread that is no worker: it runs the task if no other thread has begun
 * it.
 */
static inline void *wait_in_thread(void *task)
{
	drover_pool_wait(pool, task, NULL);
	return NULL;
}

static inline int result_of(drover_task_t *task)
{
	int result = -1;

	MUST(drover_pool_wait(pool, task, &result));
	return result;
}

static inline int run_on(pid_t tid, const void *set)
{
	return sched_setaffinity(tid, sizeof(cpu_set_t), set);
}

/*
 * workers_sleep - do @nr threads sleep in futex?
 *
 * Only workers may sleep there: the caller does not, and a sanitizer's own
 * thread sleeps elsewhere.
 */
static inline int sleeps(pid_t tid, const void *none)
{
	return blocked_in_futex(getpid(), tid, NULL) == 1;
}

static inline bool workers_sleep(int nr)
{
	return for_all_threads(sleeps, NULL) >= nr;
}

/* A worker that was woken and has not run yet counts as awake. */
static inline void await_sleep(int nr)
{
	wait_until(workers_sleep(nr), "workers do not sleep");
}

#ifdef REFUSES

/*
 * Memory and threads that are refused
 *
 * The test defines refuses(). The functions below are called instead of the C
 * library's, because the program's symbols come first.
 */
static bool refuses(bool memory);

#ifdef FAULTS

static atomic_int faults_left = -1; /* calls before the one that fails */

static bool refuses(bool memory)
{
	return faults_left >= 0 && faults_left-- == 0;
}

/* with_each_fault - two results: @life is well with each fault, and had all */
static inline void with_each_fault(bool (*life)(void))
{
	int nr = 0, nr_wrong = 0;
	bool was_last = false;

	for (; nr < FAULTS && !was_last; nr++) {
		watchdog("a fault");
		faults_left = nr;
		if (!life()) {
			tap_diag("fault %d", nr);
			nr_wrong++;
		}
		was_last = faults_left >= 0;
		faults_left = -1;
		await_alone();
	}
	tap_is(nr_wrong, 0, "with each fault all was as it should be");
	tap_ok(nr > 8 && nr < FAULTS, "%d places could fail, and each did", nr);
}

#endif

int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
		   void *(*run)(void *), void *arg)
{
	static __typeof__(pthread_create) *real;

	if (!real)
		real = (__typeof__(real))dlsym(RTLD_NEXT, "pthread_create");
	return refuses(false) ? EAGAIN : real(thread, attr, run, arg);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	void *memory;

	if (refuses(true) || posix_memalign(&memory, alignment, bytes))
		return NULL;
	return memory;
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define MAY_LACK(function, parameters, ...)                    \
	extern void *__libc_##function parameters;             \
	void *function parameters                              \
	{                                                      \
		if (!refuses(true))                            \
			return __libc_##function(__VA_ARGS__); \
		errno = ENOMEM;                                \
		return NULL;                                   \
	}

MAY_LACK(malloc, (size_t bytes), bytes)
MAY_LACK(calloc, (size_t nr, size_t bytes), nr, bytes)
MAY_LACK(realloc, (void *memory, size_t bytes), memory, bytes)
#endif

#endif /* REFUSES */
