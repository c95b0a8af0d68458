// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread is cancelled inside its share of a loop, and inside a task that it
 * runs because it waits for it; and a task ends the worker that runs it. Nobody
 * uses a stack that has gone, nothing hangs, and others are told. No call is a
 * cancellation point: a thread that was cancelled comes through all of them.
 */
#include "tasks.h"

#define NR_WORKERS 2

static pthread_t victim, opener;
static atomic_int nr_helpers, nr_through;
static drover_task_t task;
static int nr_wrong;

static int part(size_t begin, size_t end, void *arg)
{
	if (pthread_equal(pthread_self(), victim)) {
		reached(&nr_helpers, 1);
		pthread_exit(PTHREAD_CANCELED);
	}
	nr_helpers++;
	reached(&gate, 1);
	nr_helpers--;
	return 0;
}

/* When the thread sleeps, others may go on. */
static void *open_gate(void *tid)
{
	asleep(*(pid_t *)tid);
	gate = 1;
	return NULL;
}

static void after_loop(void *nr_left)
{
	*(int *)nr_left = nr_helpers;
}

static void *cancelled_in_loop(void *arg)
{
	pid_t tid = blocked_gettid();

	victim = pthread_self();
	opener = thread_of(open_gate, &tid);
	pthread_cleanup_push(after_loop, arg);
	drover_pool_for(pool, 0, 1000, 1, part, NULL);
	pthread_cleanup_pop(0);
	return NULL;
}

static void test_loop(void)
{
	int nr_left = -1;

	watchdog("cancelled in a loop");
	tap_ok(joined(thread_of(cancelled_in_loop, &nr_left)) ==
		       PTHREAD_CANCELED,
	       "cancelled in its share of a loop");
	joined(opener);
	tap_is(nr_left, 0, "its helpers have ended then");
}

static int exit_thread(void *arg)
{
	nr_run++;
	pthread_exit(arg);
}

static void test_wait(void)
{
	drover_task_t held[NR_WORKERS];

	watchdog("cancelled in a wait");
	gate = 0;
	for (int i = 0; i < NR_WORKERS; i++)
		submit_held(&held[i]);
	submit(&task, exit_thread, PTHREAD_CANCELED);
	tap_ok(joined(thread_of(wait_in_thread, &task)) == PTHREAD_CANCELED,
	       "cancelled in a task it waits for");
	tap_is(drover_pool_wait(pool, &task, NULL), ECANCELED,
	       "others learn that it has no result");
	gate = 1;
	for (int i = 0; i < NR_WORKERS; i++)
		drover_pool_wait(pool, &held[i], NULL);
	tap_is(drover_pool_wait_all(pool), 0, "no task is left");
}

/* More often than there are workers. */
static void test_worker(void)
{
	watchdog("workers end");
	nr_run = 0;
	for (int i = 0; i < 2 * NR_WORKERS; i++) {
		drover_pool_post(pool, exit_thread, NULL);
		drover_pool_wait_all(pool);
	}
	for (int i = 0; i < 10; i++)
		drover_pool_post(pool, count, NULL);
	drover_pool_wait_all(pool);
	tap_is(nr_run, 2 * NR_WORKERS + 10,
	       "tasks end their workers, and others run");
	end();
}

static int part_of_helper(size_t begin, size_t end, void *arg)
{
	if (!pthread_equal(pthread_self(), victim)) {
		nr_helpers++;
		pthread_exit(NULL);
	}
	reached(&nr_helpers, 1);
	return 0;
}

/* By a worker that is one no more: it runs no tasks, and holds no place. */
static void wait_at_end(void *arg)
{
	drover_task_t late;
	pid_t tid = blocked_gettid();

	submit_held(&late);
	opener = thread_of(open_gate, &tid);
	nr_wrong += drover_pool_wait(pool, &late, NULL) != 0;
	nr_through++;
}

static int exit_with_key(void *key)
{
	pthread_setspecific(*(pthread_key_t *)key, pool);
	pthread_exit(NULL);
}

static void test_helper(void)
{
	pthread_key_t key;

	watchdog("a helper ends");
	begin_with((drover_poolattr_t){ .workers = 1,
					.spares = DROVER_POOL_NO_SPARES });
	nr_helpers = 0;
	victim = pthread_self();
	tap_is(drover_pool_for(pool, 0, 10, 1, part_of_helper, NULL), ECANCELED,
	       "a part ends its thread: the loop says so");
	pthread_key_create(&key, wait_at_end);
	drover_pool_post(pool, exit_with_key, &key);
	reached(&nr_through, 1);
	joined(opener);
	tap_is(nr_wrong, 0, "a thread that was a worker may wait");
	nr_through = 0;
	end();
}

static int do_nothing(size_t begin, size_t end, void *arg)
{
	return 0;
}

static void *come_through(void *arg)
{
	pid_t tid = blocked_gettid();
	drover_task_t held;

	pthread_cancel(pthread_self());
	begin(1);
	submit_held(&held);
	opener = thread_of(open_gate, &tid);
	nr_wrong += drover_pool_wait(pool, &held, NULL) != 0;
	nr_wrong += drover_pool_post(pool, hold, NULL) != 0;
	nr_wrong += drover_pool_for(pool, 0, 100, 1, do_nothing, NULL) != 0;
	nr_wrong += drover_pool_wait_all(pool) != 0;
	end();
	nr_through++;
	joined(opener);
	pthread_testcancel();
	return arg;
}

static void test_calls(void)
{
	watchdog("cancelled before");
	tap_ok(joined(thread_of(come_through, NULL)) == PTHREAD_CANCELED,
	       "cancelled before all calls, and afterwards");
	tap_is(nr_through, 1, "it came through all calls");
	tap_is(nr_wrong, 0, "they did what they should");
}

int main(void)
{
	if (!FRAMES_MAY_UNWIND)
		return frames_stay();
	tap_plan(8 + 3);
	begin_with((drover_poolattr_t){ .workers = NR_WORKERS,
					.spares = DROVER_POOL_NO_SPARES });
	test_loop();
	test_wait();
	test_worker();
	test_helper();
	test_calls();
	return tap_exit();
}
