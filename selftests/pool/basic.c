// SPDX-License-Identifier: GPL-2.0-only
/* What the calls of drover_pool_t answer, right and wrong. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "blocked.h"
#include "blocks.h"
#include "tap.h"

static drover_pool_t *pool;
static atomic_int gate, nr_inside, nr_posted;

static int answer(void *arg)
{
	return (int)(intptr_t)arg;
}

static int hold(void *arg)
{
	(void)arg;
	atomic_fetch_add(&nr_inside, 1);
	return wait_at_least(&gate, 1);
}

static int count(void *arg)
{
	(void)arg;
	atomic_fetch_add(&nr_posted, 1);
	return 0;
}

static int from_inside(void *arg)
{
	int *answers = arg;

	answers[0] = drover_pool_wait_all(pool);
	answers[1] = drover_pool_shutdown(pool, DROVER_POOL_DRAIN);
	return 0;
}

static void test_create(void)
{
	drover_poolattr_t bad[] = {
		{ .flags = 0x2 },
		{ .workers = DROVER_POOL_MAX + 1 },
		{ .reserved = { 1 } },
	};
	drover_poolattr_t attr = { .stack = 1 };
	drover_pool_t *none = NULL;
	int refused = 0;

	for (int i = 0; i < 3; i++)
		refused += drover_pool_create(&none, &bad[i]) == EINVAL;
	tap_is(refused, 3, "create: bad attributes");
	tap_is(drover_pool_create(&none, &attr), EINVAL,
	       "create: a stack that is too small");
	tap_ok(!none, "create: nothing is written");
}

static void test_task(void)
{
	drover_task_t task = DROVER_TASK_INITIALIZER(answer, (void *)42);
	drover_task_t empty = DROVER_TASK_INITIALIZER(NULL, NULL);
	drover_task_t batch[3];
	int result = 0;

	tap_is(drover_pool_submit(pool, NULL), EINVAL, "submit: no task");
	tap_is(drover_pool_submit(pool, &empty), EINVAL, "submit: no function");
	tap_is(drover_pool_post(pool, NULL, NULL), EINVAL, "post: no function");
	tap_is(drover_pool_submit_batch(pool, NULL, 1), EINVAL,
	       "batch: no tasks");
	tap_is(drover_pool_submit_batch(pool, NULL, 0), 0, "batch of none");
	tap_is(drover_pool_wait(pool, &task, NULL), EINVAL,
	       "wait, never submitted");
	tap_is(drover_pool_cancel(pool, &task), EINVAL,
	       "cancel, never submitted");
	tap_is(drover_pool_submit(pool, &task), 0, "submit");
	tap_is(drover_pool_wait(pool, &task, &result), 0, "wait");
	tap_is(result, 42, "the result comes back");
	tap_is(drover_pool_wait(pool, &task, NULL), 0, "wait once more");
	tap_is(drover_pool_cancel(pool, &task), EBUSY, "cancel, ended");
	tap_is(drover_pool_submit(pool, &task), 0, "submit once more");
	tap_is(drover_pool_wait(pool, &task, &result), 0, "and wait for it");

	drover_task_init(&batch[0], answer, (void *)1);
	drover_task_init(&batch[1], NULL, NULL);
	drover_task_init(&batch[2], answer, (void *)3);
	tap_is(drover_pool_submit_batch(pool, batch, 3), EINVAL,
	       "batch with a bad task");
	tap_is(drover_pool_wait(pool, &batch[0], NULL), EINVAL,
	       "none of it was accepted");
	drover_task_init(&batch[1], answer, (void *)2);
	tap_is(drover_pool_submit_batch(pool, batch, 3), 0, "batch");
	for (int i = 0; i < 3; i++)
		if (drover_pool_wait(pool, &batch[i], &result) ||
		    result != i + 1)
			tap_diag("task %d: %d", i, result);
	tap_is(result, 3, "results of a batch");
}

/* One worker, busy: what else is submitted stays in the queue. */
static void test_queued(void)
{
	drover_task_t held = DROVER_TASK_INITIALIZER(hold, NULL);
	drover_task_t queued = DROVER_TASK_INITIALIZER(answer, (void *)7);
	int result = 0;

	atomic_store(&gate, 0);
	drover_pool_submit(pool, &held);
	if (wait_at_least(&nr_inside, 1))
		tap_bail("the worker does not begin");
	tap_is(drover_pool_submit(pool, &held), EBUSY, "submit, running");
	tap_is(drover_pool_cancel(pool, &held), EBUSY, "cancel, running");
	drover_pool_submit(pool, &queued);
	tap_is(drover_pool_submit(pool, &queued), EBUSY, "submit, queued");
	tap_is(drover_pool_cancel(pool, &queued), 0, "cancel, queued");
	tap_is(drover_pool_wait(pool, &queued, &result), ECANCELED,
	       "wait, cancelled");
	tap_is(result, 0, "no result of a cancelled task");
	drover_pool_submit(pool, &queued);
	tap_is(drover_pool_wait(pool, &queued, &result), 0,
	       "who waits for a queued task runs it");
	tap_is(result, 7, "and has its result");
	atomic_store(&gate, 1);
	drover_pool_wait(pool, &held, NULL);
}

static void test_inside(void)
{
	int answers[2] = { 0 };
	drover_task_t task = DROVER_TASK_INITIALIZER(from_inside, answers);

	drover_pool_submit(pool, &task);
	/* wait() would run it here. */
	drover_pool_wait_all(pool);
	tap_is(answers[0], EDEADLK, "wait_all in a task");
	tap_is(answers[1], EDEADLK, "shutdown in a task");
	for (int i = 0; i < 100; i++)
		drover_pool_post(pool, count, NULL);
	drover_pool_wait_all(pool);
	tap_is(atomic_load(&nr_posted), 100, "posted tasks run");
}

/* The child of a fork has no workers; nothing may hang there. */
static void test_fork(void)
{
	drover_task_t task = DROVER_TASK_INITIALIZER(answer, NULL);
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		alarm(20);
		_exit(drover_pool_submit(pool, &task) == ECHILD &&
		      drover_pool_post(pool, answer, NULL) == ECHILD &&
		      drover_pool_wait(pool, &task, NULL) == ECHILD &&
		      drover_pool_wait_all(pool) == ECHILD &&
		      drover_pool_shutdown(pool, DROVER_POOL_DRAIN) == ECHILD &&
		      drover_pool_free(pool) == 0);
	}
	waitpid(child, &status, 0);
	tap_is(status, 1 << 8, "the child of a fork is told");
}

static void test_end(void)
{
	drover_task_t task = DROVER_TASK_INITIALIZER(answer, NULL);
	drover_poolstats_t stats;

	tap_is(drover_pool_free(pool), EBUSY, "free, not shut down");
	tap_is(drover_pool_shutdown(pool, 2), EINVAL, "shutdown: bad argument");
	drover_pool_stats(pool, &stats);
	tap_is(stats.workers, 1, "stats: workers");
	/* 2 of task, 3 of the batch, held, queued, one inside, 100 posted */
	tap_is(stats.tasks, 108, "stats: tasks");
	tap_is(stats.cancelled, 1, "stats: cancelled");
	tap_is(drover_pool_shutdown(pool, DROVER_POOL_DRAIN), 0, "shutdown");
	tap_is(drover_pool_shutdown(pool, DROVER_POOL_DRAIN), EALREADY,
	       "shutdown again");
	tap_is(drover_pool_submit(pool, &task), ESHUTDOWN,
	       "submit after shutdown");
	tap_is(drover_pool_post(pool, answer, NULL), ESHUTDOWN,
	       "post after shutdown");
	tap_is(drover_pool_wait(pool, &task, NULL), EINVAL,
	       "it was not accepted");
	tap_is(drover_pool_wait_all(pool), 0, "wait_all after shutdown");
	tap_is(drover_pool_free(pool), 0, "free");
}

int main(void)
{
	watchdog("pool");
	tap_plan(3 + 18 + 8 + 3 + 1 + 12 + 1);
	errno = 4711;
	pool = pool_of(1);
	test_create();
	test_task();
	test_queued();
	test_inside();
	tap_is(errno, 4711, "errno is left alone");
	test_fork();
	test_end();
	return tap_exit();
}
