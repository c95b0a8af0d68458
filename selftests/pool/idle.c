// SPDX-License-Identifier: GPL-2.0-only
/*
 * Without tasks all workers fall asleep, and stay so; each single task that
 * comes then wakes one. Nobody waits for the tasks by drover_pool_wait(), which
 * would run them itself.
 */
#include "tasks.h"

#define NR_WORKERS 3

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "rounds");
	int nr_rounds = args_get(&args, "rounds", 200);
	drover_poolstats_t before, after;

	tap_plan(3);
	watchdog("idle workers");
	begin(NR_WORKERS);
	await_sleep(NR_WORKERS);
	before = stats_of(pool);
	for (int i = 1; i <= nr_rounds; i++) {
		if (i % 4 == 0)
			await_sleep(NR_WORKERS);
		drover_pool_post(pool, count, NULL);
		reached(&nr_run, i);
	}
	tap_is(nr_run, nr_rounds, "each task alone finds a worker");
	await_sleep(NR_WORKERS);
	after = stats_of(pool);
	tap_ok(after.wakes >= before.wakes + nr_rounds / 4,
	       "woken for tasks: %lu times", after.wakes - before.wakes);
	/* Nothing happens in the pool while there is nothing to do. */
	before = after;
	for (int i = 0; i < 1000; i++)
		sched_yield();
	after = stats_of(pool);
	tap_ok(before.sleeps == after.sleeps &&
		       before.linger_ns == after.linger_ns &&
		       workers_sleep(NR_WORKERS),
	       "and sleep on");
	end();
	return tap_exit();
}
