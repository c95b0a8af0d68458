// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nothing waits for ever: while each worker has a task that submits itself again,
 * what others submit begins before the worker has taken so many tasks as
 * lib/pool/worker.c says, and so does what lies in a worker's own queue.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "blocked.h"
#include "blocks.h"
#include "tap.h"

#define NR_WORKERS  2
#define NR_INJECTED 16
#define FAIR_EVERY  61

static drover_pool_t *pool;
static atomic_int over, nr_ended, nr_reposting;
static _Atomic uint64_t nr_reposts;
static uint64_t ended_at[NR_INJECTED];
static drover_task_t old_one;
static atomic_int old_ended;

static int repost(void *arg)
{
	int first = 1;

	atomic_compare_exchange_strong((atomic_int *)arg, &first, 2);
	if (first == 1)
		atomic_fetch_add(&nr_reposting, 1);
	atomic_fetch_add(&nr_reposts, 1);
	return atomic_load(&over) ? 0 : drover_pool_post(pool, repost, arg);
}

static int end_injected(void *arg)
{
	ended_at[(intptr_t)arg] = atomic_load(&nr_reposts);
	atomic_fetch_add(&nr_ended, 1);
	return 0;
}

static int end_old(void *arg)
{
	(void)arg;
	atomic_store(&old_ended, 1);
	return 0;
}

/* Submits "old_one" to its own queue, then tasks that are newer for ever. */
static int begin_old(void *arg)
{
	drover_task_init(&old_one, end_old, NULL);
	if (drover_pool_submit(pool, &old_one))
		tap_bail("submit");
	return repost(arg);
}

static void begin(atomic_int *firsts, int (*function)(void *arg))
{
	atomic_store(&over, 0);
	atomic_store(&nr_reposting, 0);
	pool = pool_of(NR_WORKERS);
	for (int i = 0; i < NR_WORKERS; i++) {
		atomic_store(&firsts[i], 1);
		drover_pool_post(pool, i ? repost : function, &firsts[i]);
	}
	if (wait_at_least(&nr_reposting, NR_WORKERS))
		tap_bail("tasks do not begin");
}

static void end(void)
{
	atomic_store(&over, 1);
	pool_end(pool, DROVER_POOL_DRAIN);
}

static void test_injected(void)
{
	atomic_int firsts[NR_WORKERS];
	uint64_t first, most;

	watchdog("injected tasks");
	begin(firsts, repost);
	first = atomic_load(&nr_reposts);
	for (intptr_t i = 0; i < NR_INJECTED; i++)
		drover_pool_post(pool, end_injected, (void *)i);
	most = atomic_load(&nr_reposts) - first;
	if (wait_at_least(&nr_ended, NR_INJECTED))
		tap_bail("injected tasks starve");
	tap_ok(true, "injected tasks run");
	/* From the end of submitting; the last one has all others before it. */
	most += (uint64_t)NR_WORKERS * FAIR_EVERY * (NR_INJECTED + 1);
	first = ended_at[NR_INJECTED - 1] - first;
	tap_diag("after %lu tasks, at most %lu", first, most);
	tap_ok(first <= most, "after as few others as is promised");
	end();
}

static void test_own(void)
{
	atomic_int firsts[NR_WORKERS];

	watchdog("a worker's own queue");
	begin(firsts, begin_old);
	if (wait_at_least(&old_ended, 1))
		tap_bail("the oldest of a worker's queue starves");
	tap_ok(true, "the oldest of a worker's own queue runs");
	end();
}

int main(void)
{
	tap_plan(3);
	test_injected();
	test_own();
	return tap_exit();
}
