// SPDX-License-Identifier: GPL-2.0-only
/*
 * A worker that sleeps on the CPU of a loop's caller is woken on another CPU,
 * and has its affinity back when it runs a part of the loop. The same holds if
 * the caller is a worker, and there are no more CPUs than workers.
 */
#include "tasks.h"

static cpu_set_t all, narrow, wide, seen;
static pid_t caller;
static int nr_workers;

static void meet_others(int nr)
{
	nr_begun++;
	reached(&nr_begun, nr);
}

/* Move to the one CPU, and then get the affinity back, without moving again. */
static int come_here(void *set)
{
	meet_others(nr_workers);
	if (sched_setaffinity(0, sizeof(narrow), &narrow))
		return 1;
	return sched_setaffinity(0, sizeof(wide), set);
}

/* Each of two parts waits for the other, so the worker runs one of them. */
static int meet(size_t begin, size_t end, void *set)
{
	if (blocked_gettid() != caller)
		sched_getaffinity(0, sizeof(seen), set);
	meet_others(2);
	return 0;
}

static int loop_here(void *set)
{
	caller = blocked_gettid();
	nr_begun = 0;
	sched_setaffinity(0, sizeof(narrow), &narrow);
	drover_pool_for(pool, 0, 2, 1, meet, &seen);
	return sched_setaffinity(0, sizeof(cpu_set_t), set);
}

/* One loop while a worker sleeps; was its affinity as it should be? */
static bool loop_with(cpu_set_t *set)
{
	nr_begun = 0;
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
	uint64_t before = stats_of(pool).moves;
	int nr_wrong = 0;

	while (stats_of(pool).moves < before + 10 && !blocked_over(deadline))
		nr_wrong += !loop_with(set);
	tap_ok(stats_of(pool).moves >= before + 10,
	       "%s: a worker was woken elsewhere", which);
	tap_is(nr_wrong, 0, "%s: the worker has its affinity back", which);
}

int main(void)
{
	uint64_t before;

	narrow = wide = one_cpu();
	all = own_cpus();
	if (CPU_COUNT(&all) < 2)
		return tap_skipped("workers woken elsewhere", "needs two CPUs");
	for (int cpu = 0; CPU_COUNT(&wide) < 2; cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &wide);
	tap_plan(8);
	watchdog("workers woken elsewhere");
	begin(nr_workers = 1);
	test_moved(&all, "all CPUs");
	test_moved(&wide, "two CPUs");
	before = stats_of(pool).moves;
	tap_ok(loop_with(&narrow), "a pinned worker keeps its affinity");
	tap_is(stats_of(pool).moves, before, "a pinned worker is not moved");
	end();
	sched_setaffinity(0, sizeof(wide), &wide);
	begin(nr_workers = 2);
	test_moved(&wide, "called by a worker");
	end();
	return tap_exit();
}
