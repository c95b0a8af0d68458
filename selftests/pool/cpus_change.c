// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loops and tasks while the CPUs of all threads change: each part runs once, and
 * when nobody changes them any more, every worker keeps the CPUs that it was given,
 * although it is woken now here, now there.
 */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "run.h"
#include "blocks.h"
#include "tap.h"

#define NR_WORKERS 3
#define NR_PARTS   64
#define NR_TASKS   8

static drover_pool_t *pool;
static cpu_set_t all, one;
static atomic_bool over;
static atomic_long nr_parts;
static atomic_int nr_begun;

static int part(size_t begin, size_t end, void *arg)
{
	(void)arg;
	atomic_fetch_add(&nr_parts, (long)(end - begin));
	return 0;
}

static int task(void *arg)
{
	(void)arg;
	atomic_fetch_add(&nr_parts, 1);
	return 0;
}

/* Call @function for each thread of the process; how often it was not 0. */
static int for_all_threads(int (*function)(pid_t tid, const cpu_set_t *set),
			   const cpu_set_t *set)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	int nr = 0;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			nr += function(atoi(entry->d_name), set) != 0;
	if (dir)
		closedir(dir);
	return nr;
}

static int give(pid_t tid, const cpu_set_t *set)
{
	return sched_setaffinity(tid, sizeof(*set), set);
}

static int has_other(pid_t tid, const cpu_set_t *set)
{
	cpu_set_t now;

	return sched_getaffinity(tid, sizeof(now), &now) ||
	       !CPU_EQUAL(&now, set);
}

static void *change(void *arg)
{
	atomic_fetch_add(&nr_begun, 1);
	while (!atomic_load(&over)) {
		for_all_threads(give, &one);
		sched_yield();
		for_all_threads(give, &all);
		sched_yield();
	}
	return arg;
}

/* Returns how many calls went wrong. */
static int work(int nr_rounds)
{
	drover_task_t tasks[NR_TASKS];
	int nr_wrong = 0;

	for (int i = 0; i < nr_rounds; i++) {
		nr_wrong += drover_pool_for(pool, 0, NR_PARTS, 1, part, NULL) !=
			    0;
		for (int j = 0; j < NR_TASKS; j++)
			drover_task_init(&tasks[j], task, NULL);
		nr_wrong += drover_pool_submit_batch(pool, tasks, NR_TASKS) !=
			    0;
		for (int j = 0; j < NR_TASKS; j++)
			nr_wrong += drover_pool_wait(pool, &tasks[j], NULL) !=
				    0;
	}
	return nr_wrong;
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "rounds");
	int nr_rounds = args_get(&args, "rounds", 500), cpu = 0;
	pthread_t changer;

	watchdog("CPUs change");
	tap_plan(4);
	if (sched_getaffinity(0, sizeof(all), &all))
		tap_bail("sched_getaffinity");
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	pool = pool_of(NR_WORKERS);
	if (pthread_create(&changer, NULL, change, NULL) ||
	    wait_at_least(&nr_begun, 1))
		tap_bail("no thread");
	tap_is(work(nr_rounds), 0, "CPUs change: no call goes wrong");
	tap_is(atomic_load(&nr_parts), nr_rounds * (NR_PARTS + NR_TASKS),
	       "each part and task ran once");
	atomic_store(&over, true);
	pthread_join(changer, NULL);
	await_sleep(NR_WORKERS);
	for_all_threads(give, &all);
	tap_is(work(nr_rounds), 0, "and when they change no more");
	await_sleep(NR_WORKERS);
	tap_is(for_all_threads(has_other, &all), 0,
	       "all threads have the CPUs that they were given");
	pool_end(pool, DROVER_POOL_DRAIN);
	return tap_exit();
}
