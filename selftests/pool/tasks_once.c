// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many threads submit tasks in all ways, tasks submit tasks and wait for them,
 * 64 deep now and then, some are cancelled: each task runs once or is cancelled,
 * none is lost, and its result comes back. tasks=100000000 is the long form.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "run.h"
#include "blocked.h"
#include "blocks.h"
#include "tap.h"

#define NR_SUBMITTERS 3
#define BATCH	      16
#define LONG	      1000000
#define DEEP	      64
#define SLOW_NS	      100000

struct job {
	drover_task_t task;
	struct job *children; /* two, or NULL */
	/* Plain data: submitting and waiting order it. */
	uint32_t number;
	int nr_runs;
	bool slow;
};

static drover_pool_t *pool;
static atomic_ulong nr_run, nr_post_run;
static atomic_int nr_wrong;

struct submitter {
	pthread_t thread;
	uint64_t random;
	unsigned long nr_tasks;
	/* How many of its own ran, and were cancelled or not accepted. */
	unsigned long nr_done, nr_cancelled, nr_posted;
};

static int run_post(void *arg)
{
	(void)arg;
	atomic_fetch_add_explicit(&nr_post_run, 1, memory_order_relaxed);
	return 0;
}

/* Longer than who waits for it polls. */
static void take_time(void)
{
	struct timespec until = deadline_in(CLOCK_MONOTONIC, SLOW_NS);

	while (!deadline_passed(CLOCK_MONOTONIC, &until))
		;
}

/* Twice its number, plus the results of its children. */
static int run_job(void *arg)
{
	struct job *job = arg;
	int sum = job->number * 2, result;

	job->nr_runs++;
	atomic_fetch_add_explicit(&nr_run, 1, memory_order_relaxed);
	for (int i = 0; job->children && i < 2; i++)
		if (drover_pool_submit(pool, &job->children[i].task))
			atomic_fetch_add(&nr_wrong, 1);
	/* A parent leaves its children to others. */
	if (job->slow)
		take_time();
	for (int i = 0; job->children && i < 2; i++) {
		if (drover_pool_wait(pool, &job->children[i].task, &result))
			atomic_fetch_add(&nr_wrong, 1);
		sum += result;
	}
	return sum;
}

static void job_init(struct job *job, uint32_t number, struct job *children)
{
	*job = (struct job){ .number = number, .children = children };
	drover_task_init(&job->task, run_job, job);
}

/* Now and then so that only a worker can run it. */
static int wait_somehow(struct submitter *s, drover_task_t *task, int *result)
{
	struct timespec never = { .tv_sec = INT32_MAX };

	if (random_below(&s->random, 8))
		return drover_pool_wait(pool, task, result);
	return drover_pool_clockwait(pool, task, CLOCK_REALTIME, &never,
				     result);
}

/* Wait for @job, which was submitted, and check what came of it. */
static void finish(struct submitter *s, struct job *job)
{
	int result = -1, err = wait_somehow(s, &job->task, &result);
	int wanted = job->number * 2;

	for (int i = 0; job->children && i < 2; i++) {
		wanted += job->children[i].number * 2;
		s->nr_done += err == 0;
		if (job->children[i].nr_runs != !err)
			atomic_fetch_add(&nr_wrong, 1);
	}
	s->nr_done += err == 0;
	s->nr_cancelled += err == ECANCELED;
	if ((err && err != ECANCELED) || job->nr_runs != !err ||
	    (!err && result != wanted))
		atomic_fetch_add(&nr_wrong, 1);
}

/* A task that submits the next one and waits for it: how many are below it. */
static int run_link(void *arg)
{
	intptr_t left = (intptr_t)arg;
	drover_task_t next;
	int result = -1;

	atomic_fetch_add_explicit(&nr_run, 1, memory_order_relaxed);
	if (!left)
		return 0;
	drover_task_init(&next, run_link, (void *)(left - 1));
	if (drover_pool_submit(pool, &next) ||
	    drover_pool_wait(pool, &next, &result))
		atomic_fetch_add(&nr_wrong, 1);
	return result + 1;
}

static void one_chain(struct submitter *s)
{
	drover_task_t first;
	int result = -1;

	drover_task_init(&first, run_link, (void *)(intptr_t)(DEEP - 1));
	if (drover_pool_submit(pool, &first) ||
	    wait_somehow(s, &first, &result) || result != DEEP - 1)
		atomic_fetch_add(&nr_wrong, 1);
	s->nr_tasks += DEEP;
	s->nr_done += DEEP;
}

static void one_batch(struct submitter *s)
{
	drover_task_t tasks[BATCH];
	struct job jobs[BATCH], children[BATCH][2];
	bool at_once = random_below(&s->random, 2);

	for (int i = 0; i < BATCH; i++) {
		bool parent = random_below(&s->random, 8) == 0;

		job_init(&children[i][0], i, NULL);
		job_init(&children[i][1], i + 1, NULL);
		job_init(&jobs[i], i, parent ? children[i] : NULL);
		jobs[i].slow = parent && random_below(&s->random, 64) == 0;
		children[i][0].slow = children[i][1].slow = jobs[i].slow;
		drover_task_init(&tasks[i], run_job, &jobs[i]);
		s->nr_tasks += 1 + 2 * parent;
		if (!at_once && drover_pool_submit(pool, &jobs[i].task))
			atomic_fetch_add(&nr_wrong, 1);
	}
	if (at_once) {
		if (drover_pool_submit_batch(pool, tasks, BATCH))
			atomic_fetch_add(&nr_wrong, 1);
		for (int i = 0; i < BATCH; i++) {
			int err = wait_somehow(s, &tasks[i], NULL);

			if (err || jobs[i].nr_runs != 1)
				atomic_fetch_add(&nr_wrong, 1);
			s->nr_done += 1 + 2 * !!jobs[i].children;
		}
		return;
	}
	if (random_below(&s->random, 4) == 0)
		for (int i = 0; i < BATCH; i += 3)
			if (!drover_pool_cancel(pool, &jobs[i].task) &&
			    jobs[i].children)
				s->nr_cancelled += 2;
	for (int i = BATCH; i--;)
		finish(s, &jobs[i]);
	s->nr_posted += !drover_pool_post(pool, run_post, NULL);
}

static unsigned long nr_wanted;

/* The long form takes minutes: a line for each tenth, and no hang of hours. */
static void *submit_all(void *arg)
{
	struct submitter *s = arg;
	unsigned long tenth = nr_wanted / 10, next = tenth;

	while (s->nr_tasks < nr_wanted) {
		one_batch(s);
		if (random_below(&s->random, 8) == 0)
			one_chain(s);
		if (s->nr_tasks < next || nr_wanted < LONG)
			continue;
		watchdog("tasks");
		tap_diag("a submitter has had %lu tasks done", s->nr_tasks);
		next += tenth;
	}
	return NULL;
}

static void test_storm(unsigned int nr_workers, uint64_t *seed)
{
	struct submitter all[NR_SUBMITTERS] = { 0 }, sum = { 0 };
	drover_poolstats_t stats;

	watchdog("tasks");
	pool = pool_of(nr_workers);
	atomic_store(&nr_run, 0);
	atomic_store(&nr_post_run, 0);
	for (int i = 0; i < NR_SUBMITTERS; i++) {
		all[i].random = random_next(seed);
		if (pthread_create(&all[i].thread, NULL, submit_all, &all[i]))
			tap_bail("no thread");
	}
	for (int i = 0; i < NR_SUBMITTERS; i++) {
		pthread_join(all[i].thread, NULL);
		sum.nr_tasks += all[i].nr_tasks;
		sum.nr_done += all[i].nr_done;
		sum.nr_cancelled += all[i].nr_cancelled;
		sum.nr_posted += all[i].nr_posted;
	}
	drover_pool_wait_all(pool);
	drover_pool_stats(pool, &stats);
	tap_is(nr_wrong, 0, "%u workers: all as it should be", nr_workers);
	tap_is(sum.nr_done + sum.nr_cancelled, sum.nr_tasks,
	       "%u workers: of %lu tasks none is lost", nr_workers,
	       sum.nr_tasks);
	tap_is(atomic_load(&nr_run), sum.nr_done, "%u workers: none ran twice",
	       nr_workers);
	tap_is(atomic_load(&nr_post_run), sum.nr_posted,
	       "%u workers: nor did posted ones", nr_workers);
	tap_is(stats.tasks, sum.nr_done + sum.nr_posted,
	       "%u workers: the pool counts the same", nr_workers);
	tap_diag("steals %lu, helped %lu, sleeps %lu, wakes %lu, most %lu, "
		 "blocks %lu, threads %lu",
		 stats.steals, stats.helped, stats.sleeps, stats.wakes,
		 stats.queued_most, stats.blocks, stats.threads);
	pool_end(pool, DROVER_POOL_DRAIN);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "seed tasks");
	uint64_t seed = args_get(&args, "seed", args_fresh_seed());
	static const unsigned int counts[] = { 1, 2, 5 };

	nr_wanted = args_get(&args, "tasks", 300000) / 3 / NR_SUBMITTERS;
	tap_plan(3 * 5);
	tap_diag("seed=%" PRIu64, seed);
	for (int i = 0; i < 3; i++)
		test_storm(counts[i], &seed);
	return tap_exit();
}
