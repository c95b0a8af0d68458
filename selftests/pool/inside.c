// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a task may do does not depend on who runs it: in a thread that waits for
 * it, and is no worker, its submits are accepted while the pool drains, and to
 * wait for all tasks or to shut the pool down is refused.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "blocked.h"
#include "blocks.h"
#include "tap.h"

static drover_pool_t *pool;
static pthread_t main_thread;
static atomic_int gate, nr_held, nr_run, drainer_tid;
static int answers[3];
static bool was_here;

static int hold(void *arg)
{
	(void)arg;
	atomic_fetch_add(&nr_held, 1);
	return wait_at_least(&gate, 1);
}

static int count(void *arg)
{
	(void)arg;
	atomic_fetch_add(&nr_run, 1);
	return 0;
}

static void *drain(void *arg)
{
	atomic_store(&drainer_tid, blocked_gettid());
	drover_pool_shutdown(pool, DROVER_POOL_DRAIN);
	return arg;
}

static int from_inside(void *arg)
{
	pthread_t *drainer = arg;

	was_here = pthread_equal(pthread_self(), main_thread);
	answers[0] = drover_pool_wait_all(pool);
	answers[1] = drover_pool_shutdown(pool, DROVER_POOL_CANCEL);
	if (pthread_create(drainer, NULL, drain, NULL))
		tap_bail("no thread");
	if (wait_at_least(&drainer_tid, 1) ||
	    wait_blocked(getpid(), atomic_load(&drainer_tid), NULL))
		tap_bail("shutdown does not wait");
	answers[2] = drover_pool_post(pool, count, NULL);
	atomic_store(&gate, 1);
	return 0;
}

int main(void)
{
	pthread_t drainer;
	drover_task_t held = DROVER_TASK_INITIALIZER(hold, NULL);
	drover_task_t task = DROVER_TASK_INITIALIZER(from_inside, &drainer);

	watchdog("inside");
	tap_plan(6);
	main_thread = pthread_self();
	pool = pool_of(1);
	drover_pool_submit(pool, &held);
	if (wait_at_least(&nr_held, 1))
		tap_bail("the worker does not begin");
	drover_pool_submit(pool, &task);
	tap_is(drover_pool_wait(pool, &task, NULL), 0, "the task ends");
	tap_ok(was_here, "in the thread that waits");
	tap_is(answers[0], EDEADLK, "wait_all in it");
	tap_is(answers[1], EDEADLK, "shutdown in it");
	tap_is(answers[2], 0, "the pool drains: its submits are accepted");
	pthread_join(drainer, NULL);
	tap_is(atomic_load(&nr_run), 1, "and run");
	drover_pool_free(pool);
	return tap_exit();
}
