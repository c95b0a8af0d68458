// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loops and tasks while the CPUs of all threads change: each part runs once, and
 * when nobody changes them any more, every worker keeps the CPUs that it was given,
 * although it is woken now here, now there.
 */
#include "tasks.h"

#define NR_WORKERS 3
#define NR_PARTS   64
#define NR_TASKS   8

static cpu_set_t all, one;
static atomic_bool over;

static int part(size_t begin, size_t end, void *arg)
{
	nr_run += end - begin;
	return 0;
}

static int give(pid_t tid, const void *set)
{
	return sched_setaffinity(tid, sizeof(cpu_set_t), set);
}

static int has_other(pid_t tid, const void *set)
{
	cpu_set_t now;

	return sched_getaffinity(tid, sizeof(now), &now) ||
	       !CPU_EQUAL(&now, (const cpu_set_t *)set);
}

static void *change(void *arg)
{
	nr_begun++;
	while (!over) {
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
	int wrong = 0;

	for (int i = 0; i < nr_rounds; i++) {
		wrong += drover_pool_for(pool, 0, NR_PARTS, 1, part, NULL) != 0;
		for (int j = 0; j < NR_TASKS; j++)
			drover_task_init(&tasks[j], count, NULL);
		wrong += drover_pool_submit_batch(pool, tasks, NR_TASKS) != 0;
		for (int j = 0; j < NR_TASKS; j++)
			wrong += drover_pool_wait(pool, &tasks[j], NULL) != 0;
	}
	return wrong;
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "rounds");
	int nr_rounds = args_get(&args, "rounds", 500);
	pthread_t changer;

	watchdog("CPUs change");
	tap_plan(4);
	one = one_cpu();
	sched_getaffinity(0, sizeof(all), &all);
	begin(NR_WORKERS);
	changer = thread_of(change, NULL);
	reached(&nr_begun, 1);
	tap_is(work(nr_rounds), 0, "CPUs change: no call goes wrong");
	tap_is(nr_run, nr_rounds * (NR_PARTS + NR_TASKS),
	       "each part and task ran once");
	over = true;
	joined(changer);
	await_sleep(NR_WORKERS);
	for_all_threads(give, &all);
	tap_is(work(nr_rounds), 0, "and when they change no more");
	await_sleep(NR_WORKERS);
	tap_is(for_all_threads(has_other, &all), 0,
	       "all threads have the CPUs that they were given");
	end();
	return tap_exit();
}
