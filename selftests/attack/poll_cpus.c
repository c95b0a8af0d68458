// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many CPUs the process may use is counted again: a process that began on
 * one CPU polls when it may use more of them.
 */
#include <drover/pool.h>

#include "base/cpus.h"
#include "polling.h"

/* Runs in a process that began with one CPU: does a new pool count more? */
static bool counts_cpus(void)
{
	drover_pool_t *pool;
	cpu_set_t all;
	bool counted;

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	counted = !poll_has_cpu();
	/* A worker counts the CPUs, too, when its first sleep ends. */
	sleepers_stay = true;
	MUST(drover_pool_create(&pool, NULL));
	counted &= poll_has_cpu() == (cpus_usable() > 1);
	sleepers_stay = false;
	MUST(drover_pool_shutdown(pool, DROVER_POOL_DRAIN));
	MUST(drover_pool_free(pool));
	return counted;
}

static bool run_pool_on_one_cpu(void)
{
	to_one_cpu();
	execl("/proc/self/exe", "poll_cpus", "one_cpu=2", NULL);
	return false;
}

/* Start a new program on one CPU. Its status has a bit for each fault. */
static bool run_on_one_cpu(void)
{
	to_one_cpu();
	execl("/proc/self/exe", "poll_cpus", "one_cpu=1", NULL);
	_exit(-1);
}

#define NO_ONE_YIELD 1
#define NOT_WIDENED  2

static int on_one_cpu(void)
{
	struct poll_account a = { 0 };
	int faults = 0;
	cpu_set_t all;

	/* The thread polls once, yields once, and polls once more. */
	poll_limit(100000);
	polls(&a, never_comes);
	if (nr_polls != 2 || nr_yields != 1)
		faults |= NO_ONE_YIELD;
	sleep_once(&a);
	memset(&all, 0xff, sizeof(all));
	MUST(sched_setaffinity(0, sizeof(all), &all));
	for (int i = 0; i < 2 * NR_TIMES; i++)
		sleep_once(&a);
	if (!polls(&a, never_comes) || nr_polls <= 2)
		faults |= NOT_WIDENED;
	return faults;
}

/* Only the caller is pinned to one CPU: other threads may use the others. */
static void test_pinned(void)
{
	cpu_set_t before = to_one_cpu();

	for (int i = 0; i < 2 * NR_TIMES; i++)
		sleep_once(&(struct poll_account){ 0 });
	MUST(sched_setaffinity(0, sizeof(before), &before));
	tap_ok(poll_has_cpu(), "a pinned thread counts the process's CPUs");
}

static void test_one_cpu(void)
{
	bool several = poll_has_cpu();
	int faults = child_status(run_on_one_cpu, "one CPU");

	tap_ok(!(faults & NO_ONE_YIELD),
	       "with one CPU a thread yields once, and then sleeps");
	if (several)
		tap_ok(!(faults & NOT_WIDENED),
		       "a thread polls when it may use more CPUs");
	else
		tap_skip("a thread polls when it may use more CPUs",
			 "there is one CPU");
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "one_cpu");

	switch (args_get(&args, "one_cpu", 0)) {
	case 1:
		return on_one_cpu();
	case 2:
		return !counts_cpus();
	}
	tap_plan(4);
	watchdog("polls");
	if (poll_has_cpu())
		test_pinned();
	else
		tap_skip("a pinned thread", "there is one CPU");
	test_one_cpu();
	tap_ok(child_does(run_pool_on_one_cpu, "a pool on one CPU"),
	       "a new pool counts CPUs that came later");
	return tap_exit();
}
