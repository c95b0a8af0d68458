// SPDX-License-Identifier: GPL-2.0-only
/* What the calls of drover_pool_t answer, right and wrong, and what is counted. */
#include <sys/wait.h>

#include "tasks.h"

#define NR_QUEUED 5

static int from_inside(void *arg)
{
	int *answers = arg;

	answers[0] = drover_pool_wait_all(pool);
	answers[1] = drover_pool_shutdown(pool, DROVER_POOL_DRAIN);
	return 0;
}

static void test_create(void)
{
	const drover_poolattr_t bad[] = {
		{ .spares = DROVER_POOL_MAX + 1 },
		{ .workers = DROVER_POOL_MAX + 1 },
		{ .reserved = { 1 } },
		{ .stack = 1 },
	};
	drover_pool_t *none = NULL;
	int refused = 0;

	for (int i = 0; i < 4; i++)
		refused += drover_pool_create(&none, &bad[i]) == EINVAL;
	tap_is(refused, 4, "create: bad attributes");
	tap_ok(!none, "create: nothing is written");
}

static void test_task(void)
{
	drover_task_t task = DROVER_TASK_INITIALIZER(answer, (void *)42);
	drover_task_t empty = DROVER_TASK_INITIALIZER(NULL, NULL);
	int result = 0;

	IS(EINVAL, drover_pool_submit(pool, NULL));
	IS(EINVAL, drover_pool_submit(pool, &empty));
	IS(EINVAL, drover_pool_post(pool, NULL, NULL));
	IS(EINVAL, drover_pool_submit_batch(pool, NULL, 1));
	IS(0, drover_pool_submit_batch(pool, NULL, 0));
	tap_is(drover_pool_wait(pool, &task, NULL), EINVAL,
	       "wait: never begun");
	IS(EINVAL, drover_pool_cancel(pool, &task));
	IS(0, drover_pool_submit(pool, &task));
	IS(0, drover_pool_wait(pool, &task, &result));
	IS(42, result);
	tap_is(drover_pool_wait(pool, &task, NULL), 0, "wait once more");
	tap_is(drover_pool_cancel(pool, &task), EBUSY, "cancel, ended");
	tap_is(drover_pool_submit(pool, &task), 0, "submit once more");
	tap_is(result_of(&task), 42, "and wait for it");
}

/* A batch that is refused leaves all its tasks as they were. */
static void test_batch(void)
{
	drover_task_t batch[3];
	int sum = 0;

	for (intptr_t i = 0; i < 3; i++)
		drover_task_init(&batch[i], answer, (void *)(i + 1));
	MUST(drover_pool_submit(pool, &batch[0]));
	MUST(drover_pool_wait(pool, &batch[0], NULL));
	batch[2].function = NULL;
	tap_is(drover_pool_submit_batch(pool, batch, 3), EINVAL,
	       "a batch with a bad task");
	tap_is(result_of(&batch[0]), 1, "one that had ended has its result");
	tap_is(drover_pool_wait(pool, &batch[1], NULL), EINVAL,
	       "one that was new still is");
	batch[2].function = answer;
	IS(0, drover_pool_submit_batch(pool, batch, 3));
	for (int i = 0; i < 3; i++)
		sum += result_of(&batch[i]) == i + 1;
	tap_is(sum, 3, "then all run");
}

/* One worker, busy: what else is submitted stays in the queue. */
static void test_queued(void)
{
	drover_task_t held, queued[NR_QUEUED];
	int result = 0;

	submit_held(&held);
	tap_is(drover_pool_submit(pool, &held), EBUSY, "submit, running");
	tap_is(drover_pool_cancel(pool, &held), EBUSY, "cancel, running");
	for (int i = 0; i < NR_QUEUED; i++)
		submit(&queued[i], answer, (void *)7);
	IS(NR_QUEUED, stats_of(pool).queued_most);
	tap_is(drover_pool_submit(pool, &queued[0]), EBUSY, "submit, queued");
	tap_is(drover_pool_cancel(pool, &queued[0]), 0, "cancel, queued");
	tap_is(drover_pool_wait(pool, &queued[0], &result), ECANCELED,
	       "wait, cancelled");
	tap_is(result, 0, "no result of a cancelled task");
	for (int i = 1; i < NR_QUEUED; i++)
		result += result_of(&queued[i]) == 7;
	tap_is(result, NR_QUEUED - 1, "who waits for a queued task runs it");
	gate = 1;
	drover_pool_wait(pool, &held, NULL);
}

static void test_inside(void)
{
	int answers[2] = { 0 };
	drover_task_t task;

	submit(&task, from_inside, answers);
	/* wait() would run it here. */
	drover_pool_wait_all(pool);
	tap_is(answers[0], EDEADLK, "wait_all in a task");
	tap_is(answers[1], EDEADLK, "shutdown in a task");
	for (int i = 0; i < 100; i++)
		drover_pool_post(pool, count, NULL);
	drover_pool_wait_all(pool);
	tap_is(nr_run, 100, "posted tasks run");
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
	drover_poolstats_t stats = stats_of(pool);

	IS(EBUSY, drover_pool_free(pool));
	IS(EINVAL, drover_pool_shutdown(pool, 2));
	IS(1, stats.workers);
	/* 2 of task, 1 + 3 of the batch, held, 4 queued, one inside, 100 posted */
	IS(112, stats.tasks);
	IS(1, stats.cancelled);
	tap_ok(stats.helped >= NR_QUEUED - 1, "stats: run by who waits");
	IS(0, stats.steals);
	IS(0, drover_pool_shutdown(pool, DROVER_POOL_DRAIN));
	IS(EALREADY, drover_pool_shutdown(pool, DROVER_POOL_DRAIN));
	IS(ESHUTDOWN, drover_pool_submit(pool, &task));
	IS(ESHUTDOWN, drover_pool_post(pool, answer, NULL));
	tap_is(drover_pool_wait(pool, &task, NULL), EINVAL, "not accepted");
	tap_is(drover_pool_wait_all(pool), 0, "wait_all after shutdown");
	IS(0, drover_pool_free(pool));
}

/* Its child is in its own queue, and it does not wait for it by the pool. */
static int be_parent(void *child)
{
	int before = nr_run;

	submit(child, count, NULL);
	return wait_at_least(&nr_run, before + 1);
}

static void test_stolen(void)
{
	drover_poolstats_t stats;
	drover_task_t child;

	begin(2);
	for (int i = 0; i < 20; i++) {
		drover_pool_post(pool, be_parent, &child);
		drover_pool_wait_all(pool);
	}
	stats = stats_of(pool);
	tap_is(stats.steals, 20, "stolen from the parent's worker");
	tap_is(stats.helped, 0, "none was run by another thread");
	tap_is(stats.tasks, 40, "and all ran");
	end();
}

int main(void)
{
	watchdog("pool");
	tap_plan(2 + 14 + 5 + 8 + 3 + 1 + 1 + 14 + 3);
	errno = 4711;
	begin(1);
	test_create();
	test_task();
	test_batch();
	test_queued();
	test_inside();
	tap_is(errno, 4711, "errno is left alone");
	test_fork();
	test_end();
	test_stolen();
	return tap_exit();
}
