// SPDX-License-Identifier: GPL-2.0-only
/*
 * Without tasks all workers fall asleep, and stay so; each single task that
 * comes then wakes one. Nobody waits for the tasks by drover_pool_wait(), which
 * would run them itself.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "run.h"
#include "blocks.h"
#include "tap.h"

#define NR_WORKERS 3

static drover_pool_t *pool;
static atomic_int nr_run;

static int run(void *arg)
{
	(void)arg;
	atomic_fetch_add(&nr_run, 1);
	return 0;
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "rounds");
	int nr_rounds = args_get(&args, "rounds", 200);
	drover_poolstats_t before, after;

	tap_plan(4);
	watchdog("idle workers");
	pool = pool_of(NR_WORKERS);
	await_sleep(NR_WORKERS);
	drover_pool_stats(pool, &before);
	tap_ok(workers_sleep(NR_WORKERS), "all workers sleep");
	for (int i = 1; i <= nr_rounds; i++) {
		if (i % 4 == 0)
			await_sleep(NR_WORKERS);
		drover_pool_post(pool, run, NULL);
		if (wait_at_least(&nr_run, i))
			tap_bail("task %d is lost", i);
	}
	tap_is(nr_run, nr_rounds, "each task alone finds a worker");
	await_sleep(NR_WORKERS);
	drover_pool_stats(pool, &after);
	tap_ok(after.wakes >= before.wakes + nr_rounds / 4,
	       "woken for tasks: %lu times", after.wakes - before.wakes);
	/* Nothing happens in the pool while there is nothing to do. */
	before = after;
	for (int i = 0; i < 1000; i++)
		sched_yield();
	drover_pool_stats(pool, &after);
	tap_ok(before.sleeps == after.sleeps &&
		       before.linger_ns == after.linger_ns &&
		       workers_sleep(NR_WORKERS),
	       "and sleep on");
	pool_end(pool, DROVER_POOL_DRAIN);
	return tap_exit();
}
