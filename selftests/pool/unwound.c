// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread is cancelled inside its share of a loop, and inside a task that it
 * runs because it waits for it; and a task ends the worker that runs it. Nobody
 * uses a stack that has gone, nothing hangs, and others are told.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "blocked.h"
#include "blocks.h"
#include "tap.h"

#define NR_WORKERS 2

static drover_pool_t *pool;
static pthread_t victim, opener;
static atomic_int nr_helpers, may_end, nr_inside, gate, nr_run;
static drover_task_t task;

static int part(size_t begin, size_t end, void *arg)
{
	(void)begin;
	(void)end;
	(void)arg;
	if (pthread_equal(pthread_self(), victim)) {
		if (wait_at_least(&nr_helpers, 1))
			tap_bail("nobody helps");
		pthread_exit(PTHREAD_CANCELED);
	}
	atomic_fetch_add(&nr_helpers, 1);
	if (wait_at_least(&may_end, 1))
		tap_bail("the part is not to end");
	atomic_fetch_sub(&nr_helpers, 1);
	return 0;
}

/* When the thread sleeps, its helpers may end. */
static void *let_end(void *arg)
{
	pid_t tid = *(pid_t *)arg;

	if (wait_blocked(getpid(), tid, NULL))
		tap_bail("the loop does not wait for its helpers");
	atomic_store(&may_end, 1);
	return NULL;
}

static void after_loop(void *nr_left)
{
	*(int *)nr_left = atomic_load(&nr_helpers);
}

static void *cancelled_in_loop(void *arg)
{
	pid_t tid = blocked_gettid();

	victim = pthread_self();
	if (pthread_create(&opener, NULL, let_end, &tid))
		tap_bail("no thread");
	pthread_cleanup_push(after_loop, arg);
	drover_pool_for(pool, 0, 1000, 1, part, NULL);
	pthread_cleanup_pop(0);
	return NULL;
}

static void test_loop(void)
{
	pthread_t thread;
	int nr_left = -1;
	void *result;

	watchdog("cancelled in a loop");
	if (pthread_create(&thread, NULL, cancelled_in_loop, &nr_left))
		tap_bail("no thread");
	pthread_join(thread, &result);
	pthread_join(opener, NULL);
	tap_ok(result == PTHREAD_CANCELED, "cancelled in its share of a loop");
	tap_is(nr_left, 0, "its helpers have ended then");
}

static int hold(void *arg)
{
	(void)arg;
	atomic_fetch_add(&nr_inside, 1);
	return wait_at_least(&gate, 1);
}

static int exit_thread(void *arg)
{
	atomic_fetch_add(&nr_run, 1);
	pthread_exit(arg);
}

static void *wait_for_task(void *arg)
{
	drover_pool_wait(pool, &task, arg);
	return NULL;
}

static void test_wait(void)
{
	drover_task_t held[NR_WORKERS];
	pthread_t thread;
	void *result;

	watchdog("cancelled in a wait");
	for (int i = 0; i < NR_WORKERS; i++) {
		drover_task_init(&held[i], hold, NULL);
		drover_pool_submit(pool, &held[i]);
	}
	if (wait_at_least(&nr_inside, NR_WORKERS))
		tap_bail("workers do not begin");
	drover_task_init(&task, exit_thread, PTHREAD_CANCELED);
	drover_pool_submit(pool, &task);
	if (pthread_create(&thread, NULL, wait_for_task, NULL))
		tap_bail("no thread");
	pthread_join(thread, &result);
	tap_ok(result == PTHREAD_CANCELED, "cancelled in a task it waits for");
	tap_is(drover_pool_wait(pool, &task, NULL), ECANCELED,
	       "others learn that it has no result");
	atomic_store(&gate, 1);
	for (int i = 0; i < NR_WORKERS; i++)
		drover_pool_wait(pool, &held[i], NULL);
	tap_is(drover_pool_wait_all(pool), 0, "no task is left");
}

static int count(void *arg)
{
	(void)arg;
	atomic_fetch_add(&nr_run, 1);
	return 0;
}

/* More often than there are workers. */
static void test_worker(void)
{
	watchdog("workers end");
	atomic_store(&nr_run, 0);
	for (int i = 0; i < 2 * NR_WORKERS; i++) {
		drover_pool_post(pool, exit_thread, NULL);
		drover_pool_wait_all(pool);
	}
	for (int i = 0; i < 10; i++)
		drover_pool_post(pool, count, NULL);
	drover_pool_wait_all(pool);
	tap_is(atomic_load(&nr_run), 2 * NR_WORKERS + 10,
	       "tasks end their workers, and others run");
}

int main(void)
{
	if (!FRAMES_MAY_UNWIND)
		return frames_stay();
	tap_plan(6);
	pool = pool_of(NR_WORKERS);
	test_loop();
	test_wait();
	test_worker();
	pool_end(pool, DROVER_POOL_DRAIN);
	return tap_exit();
}
