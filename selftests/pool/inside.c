// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a task may do does not depend on who runs it: in a thread that waits for
 * it, and is no worker, its submits are accepted while the pool drains, and to
 * wait for all tasks or to shut the pool down is refused.
 */
#include "tasks.h"

static pthread_t main_thread;
static int answers[3];
static bool was_here;

static void *drain(void *arg)
{
	sleeper = blocked_gettid();
	drover_pool_shutdown(pool, DROVER_POOL_DRAIN);
	return arg;
}

static int from_inside(void *drainer)
{
	was_here = pthread_equal(pthread_self(), main_thread);
	answers[0] = drover_pool_wait_all(pool);
	answers[1] = drover_pool_shutdown(pool, DROVER_POOL_CANCEL);
	start_thread(drainer, drain, NULL);
	reached(&sleeper, 1);
	asleep(sleeper);
	answers[2] = drover_pool_post(pool, count, NULL);
	gate = 1;
	return 0;
}

int main(void)
{
	drover_task_t held, task;
	pthread_t drainer;

	watchdog("inside");
	tap_plan(6);
	main_thread = pthread_self();
	begin(1);
	submit_held(&held);
	submit(&task, from_inside, &drainer);
	tap_is(result_of(&task), 0, "the task ends");
	tap_ok(was_here, "in the thread that waits");
	tap_is(answers[0], EDEADLK, "wait_all in it");
	tap_is(answers[1], EDEADLK, "shutdown in it");
	tap_is(answers[2], 0, "the pool drains: its submits are accepted");
	joined(drainer);
	tap_is(nr_run, 1, "and run");
	drover_pool_free(pool);
	return tap_exit();
}
