// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a pool counts, where it is known what happens: tasks stolen from a worker
 * that does not get to them, run by who waits for them, and waiting in queues.
 * idle.c has sleeps and wakes, basic.c tasks that ran and were cancelled,
 * woken_elsewhere.c moves, small_cpus.c the time of looking out.
 */
#include <stdatomic.h>

#include "blocked.h"
#include "blocks.h"
#include "tap.h"

#define NR_ROUNDS 20
#define NR_QUEUED 5

static drover_pool_t *pool;
static atomic_int nr_inside, nr_children, gate;

static int hold(void *arg)
{
	(void)arg;
	atomic_fetch_add(&nr_inside, 1);
	return wait_at_least(&gate, 1);
}

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

static int be_child(void *arg)
{
	(void)arg;
	atomic_fetch_add(&nr_children, 1);
	return 0;
}

/* Its child is in its own queue, and it does not wait for it by the pool. */
static int be_parent(void *arg)
{
	int before = atomic_load(&nr_children);

	if (drover_pool_submit(pool, arg))
		tap_bail("submit");
	return wait_at_least(&nr_children, before + 1);
}

static void test_queued(void)
{
	drover_task_t held = DROVER_TASK_INITIALIZER(hold, NULL);
	drover_task_t queued[NR_QUEUED];
	drover_poolstats_t stats;

	pool = pool_of(1);
	drover_pool_submit(pool, &held);
	if (wait_at_least(&nr_inside, 1))
		tap_bail("the worker does not begin");
	for (int i = 0; i < NR_QUEUED; i++) {
		drover_task_init(&queued[i], nothing, NULL);
		drover_pool_submit(pool, &queued[i]);
	}
	for (int i = 0; i < NR_QUEUED; i++)
		drover_pool_wait(pool, &queued[i], NULL);
	atomic_store(&gate, 1);
	drover_pool_wait(pool, &held, NULL);
	drover_pool_stats(pool, &stats);
	tap_is(stats.queued_most, NR_QUEUED, "the most that were queued");
	tap_is(stats.helped, NR_QUEUED, "run by the thread that waits");
	tap_is(stats.steals, 0, "none was stolen");
	tap_is(stats.tasks, NR_QUEUED + 1, "and all ran");
	pool_end(pool, DROVER_POOL_DRAIN);
}

static void test_stolen(void)
{
	drover_poolstats_t stats;
	int nr_wrong = 0;

	pool = pool_of(2);
	for (int i = 0; i < NR_ROUNDS; i++) {
		drover_task_t child = DROVER_TASK_INITIALIZER(be_child, NULL);

		drover_pool_post(pool, be_parent, &child);
		nr_wrong += drover_pool_wait_all(pool) != 0;
	}
	drover_pool_stats(pool, &stats);
	tap_is(nr_wrong, 0,
	       "two workers: all parents have seen their children");
	tap_is(stats.steals, NR_ROUNDS, "stolen from the parent's worker");
	tap_is(stats.helped, 0, "none was run by another thread");
	tap_is(stats.tasks, 2 * NR_ROUNDS, "and all ran");
	pool_end(pool, DROVER_POOL_DRAIN);
}

int main(void)
{
	watchdog("statistics");
	tap_plan(4 + 4);
	test_queued();
	test_stolen();
	return tap_exit();
}
