// SPDX-License-Identifier: GPL-2.0-only
/*
 * A worker that sleeps on the CPU of a thread that calls a loop is woken
 * elsewhere, and has its affinity back when it runs a part of it; also if that
 * thread is a worker, and there are no more CPUs than workers.
 */
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "blocks.h"
#include "tap.h"

static drover_pool_t *pool;
static cpu_set_t narrow, wide, seen;
static pid_t caller;
static atomic_int nr_begun;
static int nr_workers;

static void await_begun(int nr)
{
	atomic_fetch_add(&nr_begun, 1);
	while (atomic_load(&nr_begun) < nr)
		sched_yield();
}

/* To the one CPU, and back to the affinity that leaves it there. */
static int come_here(void *arg)
{
	await_begun(nr_workers);
	if (sched_setaffinity(0, sizeof(narrow), &narrow))
		return 1;
	return sched_setaffinity(0, sizeof(wide), arg);
}

/* Two parts, each of which waits for the other: so the worker has one. */
static int meet(size_t begin, size_t end, void *arg)
{
	(void)begin;
	(void)end;
	if (gettid() != caller)
		sched_getaffinity(0, sizeof(seen), arg);
	await_begun(2);
	return 0;
}

static int loop_here(void *set)
{
	caller = gettid();
	atomic_store(&nr_begun, 0);
	sched_setaffinity(0, sizeof(narrow), &narrow);
	drover_pool_for(pool, 0, 2, 1, meet, &seen);
	return sched_setaffinity(0, sizeof(cpu_set_t), set);
}

static uint64_t nr_moves(void)
{
	drover_poolstats_t stats;

	drover_pool_stats(pool, &stats);
	return stats.moves;
}

/* One loop while a worker sleeps; was its affinity as it should be? */
static bool loop_with(cpu_set_t *set)
{
	atomic_store(&nr_begun, 0);
	for (int i = 0; i < nr_workers; i++)
		drover_pool_post(pool, come_here, set);
	drover_pool_wait_all(pool);
	await_sleep(nr_workers);
	CPU_ZERO(&seen);
	if (nr_workers == 1)
		loop_here(set);
	else
		drover_pool_post(pool, loop_here, set);
	drover_pool_wait_all(pool);
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

static void make_pool(int nr)
{
	nr_workers = nr;
	pool = pool_of(nr);
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
	tap_plan(8);
	watchdog("workers woken elsewhere");
	choose(&all);
	make_pool(1);
	test_moved(&all, "all CPUs");
	test_moved(&wide, "two CPUs");
	before = nr_moves();
	tap_ok(loop_with(&narrow), "pinned: it stays where it is told to");
	tap_is(nr_moves(), before, "and is not moved");
	pool_end(pool, DROVER_POOL_DRAIN);
	sched_setaffinity(0, sizeof(wide), &wide);
	make_pool(2);
	test_moved(&wide, "by a worker");
	pool_end(pool, DROVER_POOL_DRAIN);
	return tap_exit();
}
