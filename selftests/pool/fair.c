// SPDX-License-Identifier: GPL-2.0-only
/*
 * No task waits for ever. Each worker runs a task that submits itself again.
 * Meanwhile tasks that other threads submit, and old tasks in a worker's own
 * queue, begin before the worker has taken as many tasks as lib/pool/worker.c
 * says.
 */
#include "tasks.h"

#define NR_WORKERS  2
#define NR_INJECTED 16
#define FAIR_EVERY  61

static _Atomic uint64_t nr_reposts;
static uint64_t ended_at[NR_INJECTED];
static drover_task_t old_one;
static atomic_int old_ended;

static int repost(void *begun)
{
	if (!atomic_exchange((atomic_int *)begun, 1))
		nr_begun++;
	nr_reposts++;
	return gate ? 0 : drover_pool_post(pool, repost, begun);
}

static int end_injected(void *arg)
{
	ended_at[(intptr_t)arg] = nr_reposts;
	return count(arg);
}

static int end_old(void *arg)
{
	old_ended = 1;
	return 0;
}

/*
 * Submits "old_one" to the worker's own queue, and then newer tasks for ever.
 */
static int begin_old(void *begun)
{
	submit(&old_one, end_old, NULL);
	return repost(begun);
}

int main(void)
{
	atomic_int begun[NR_WORKERS] = { 0 };
	uint64_t first, most;

	tap_plan(2);
	watchdog("fairness");
	begin(NR_WORKERS);
	drover_pool_post(pool, begin_old, &begun[0]);
	for (int i = 1; i < NR_WORKERS; i++)
		drover_pool_post(pool, repost, &begun[i]);
	reached(&nr_begun, NR_WORKERS);
	first = nr_reposts;
	for (intptr_t i = 0; i < NR_INJECTED; i++)
		drover_pool_post(pool, end_injected, (void *)i);
	most = nr_reposts - first;
	reached(&nr_run, NR_INJECTED);
	/* Counted from the last submission, which is behind all others. */
	most += (uint64_t)NR_WORKERS * FAIR_EVERY * (NR_INJECTED + 1);
	first = ended_at[NR_INJECTED - 1] - first;
	tap_ok(first <= most,
	       "the last injected task ends after %lu tasks, "
	       "at most %lu",
	       first, most);
	reached(&old_ended, 1);
	tap_ok(true, "the oldest task of a worker's own queue runs");
	gate = 1;
	end();
	return tap_exit();
}
