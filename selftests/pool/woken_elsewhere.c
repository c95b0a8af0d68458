// SPDX-License-Identifier: GPL-2.0-only
/*
 * A worker that sleeps on the CPU of a thread that calls a loop is woken
 * elsewhere, and has its affinity back when it runs a part of it.
 */
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "blocks.h"
#include "tap.h"

static drover_pool_t *pool;
static cpu_set_t narrow, wide, seen;
static pid_t worker;
static atomic_int nr_begun;

/* To the one CPU, and back to the affinity that leaves it there. */
static int come_here(void *arg)
{
	worker = gettid();
	if (sched_setaffinity(0, sizeof(narrow), &narrow))
		return 1;
	return sched_setaffinity(0, sizeof(wide), arg);
}

/* Two parts, each of which waits for the other: so the worker has one. */
static int meet(size_t begin, size_t end, void *arg)
{
	(void)begin;
	(void)end;
	if (gettid() == worker)
		sched_getaffinity(0, sizeof(seen), arg);
	atomic_fetch_add(&nr_begun, 1);
	while (atomic_load(&nr_begun) < 2)
		sched_yield();
	return 0;
}

static uint64_t nr_moves(void)
{
	drover_poolstats_t stats;

	drover_pool_stats(pool, &stats);
	return stats.moves;
}

/* One loop while the worker sleeps; was its affinity as it should be? */
static bool loop_with(cpu_set_t *set)
{
	drover_pool_post(pool, come_here, set);
	drover_pool_wait_all(pool);
	await_sleep(1);
	atomic_store(&nr_begun, 0);
	CPU_ZERO(&seen);
	drover_pool_for(pool, 0, 2, 1, meet, &seen);
	return CPU_EQUAL(&seen, set);
}

/* The kernel may have put the worker somewhere else meanwhile: try again. */
static void test_moved(cpu_set_t *set, const char *which)
{
	int64_t deadline = blocked_deadline();
	uint64_t before = nr_moves();
	int nr_wrong = 0;

	while (nr_moves() < before + 10 && !blocked_over(deadline))
		nr_wrong += !loop_with(set);
	tap_ok(nr_moves() >= before + 10, "%s: it was woken elsewhere", which);
	tap_is(nr_wrong, 0, "%s: and has its affinity", which);
}

/* The first CPU of @all, and the first two of them. */
static void choose(const cpu_set_t *all)
{
	CPU_ZERO(&narrow);
	CPU_ZERO(&wide);
	for (int cpu = 0; CPU_COUNT(&wide) < 2; cpu++) {
		if (!CPU_ISSET(cpu, all))
			continue;
		if (!CPU_COUNT(&narrow))
			CPU_SET(cpu, &narrow);
		CPU_SET(cpu, &wide);
	}
}

int main(void)
{
	uint64_t before;
	cpu_set_t all;

	if (sched_getaffinity(0, sizeof(all), &all) || CPU_COUNT(&all) < 2) {
		tap_plan(1);
		tap_skip("workers woken elsewhere", "needs two CPUs");
		return tap_exit();
	}
	tap_plan(6);
	watchdog("workers woken elsewhere");
	choose(&all);
	pool = pool_of(1);
	sched_setaffinity(0, sizeof(narrow), &narrow);
	test_moved(&all, "all CPUs");
	test_moved(&wide, "two CPUs");
	before = nr_moves();
	tap_ok(loop_with(&narrow), "pinned: it stays where it is told to");
	tap_is(nr_moves(), before, "and is not moved");
	pool_end(pool, DROVER_POOL_DRAIN);
	return tap_exit();
}
