// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many threads submit tasks in all ways, and call loops; tasks submit tasks and
 * wait for them, some are cancelled, and the CPUs of all threads change: each
 * task runs once or is cancelled, and its result comes back. tasks=100000000 is
 * the long form.
 */
#include "tasks.h"

#define NR_SUBMITTERS 3
#define BATCH	      16
#define LONG	      1000000
#define DEEP	      64
#define PARTS	      64
#define SLOW_NS	      100000

struct job {
	drover_task_t task;
	struct job *children; /* two, or NULL */
	/* Plain data: submitting and waiting order it. */
	uint32_t number;
	int nr_runs;
	bool slow;
};

static atomic_ulong nr_jobs_run, nr_post_run;
static atomic_int nr_wrong;
static unsigned long nr_wanted;

struct submitter {
	pthread_t thread;
	uint64_t random;
	unsigned long nr_tasks;
	/* How many of its own ran, and were cancelled or not accepted. */
	unsigned long nr_done, nr_cancelled, nr_posted;
};

static int run_post(void *arg)
{
	atomic_fetch_add_explicit(&nr_post_run, 1, memory_order_relaxed);
	return 0;
}

/* Twice its number, plus the results of its children. */
static int run_job(void *arg)
{
	struct job *job = arg;
	int64_t until = blocked_now_ns() + (job->slow ? SLOW_NS : 0);
	int sum = job->number * 2, result;

	job->nr_runs++;
	atomic_fetch_add_explicit(&nr_jobs_run, 1, memory_order_relaxed);
	for (int i = 0; job->children && i < 2; i++)
		nr_wrong += !!drover_pool_submit(pool, &job->children[i].task);
	/* A parent leaves its children to others; longer than a waiter polls. */
	while (job->slow && blocked_now_ns() < until)
		;
	for (int i = 0; job->children && i < 2; i++) {
		nr_wrong += !!drover_pool_wait(pool, &job->children[i].task,
					       &result);
		sum += result;
	}
	return sum;
}

static void job_init(struct job *job, uint32_t number, struct job *children,
		     bool slow)
{
	*job = (struct job){ .number = number,
			     .children = children,
			     .slow = slow };
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

/* Wait for @job as @task, which was submitted, and check what came of it. */
static void finish(struct submitter *s, struct job *job, drover_task_t *task)
{
	int result = -1, err = wait_somehow(s, task, &result);
	int wanted = job->number * 2;

	for (int i = 0; job->children && i < 2; i++) {
		wanted += job->children[i].number * 2;
		s->nr_done += err == 0;
		nr_wrong += job->children[i].nr_runs != !err;
	}
	s->nr_done += err == 0;
	s->nr_cancelled += err == ECANCELED;
	nr_wrong += (err && err != ECANCELED) || job->nr_runs != !err ||
		    (!err && result != wanted);
}

/* A task that submits the next one and waits for it: how many are below it. */
static int run_link(void *arg)
{
	intptr_t left = (intptr_t)arg;
	drover_task_t next;
	int result = -1;

	atomic_fetch_add_explicit(&nr_jobs_run, 1, memory_order_relaxed);
	if (!left)
		return 0;
	drover_task_init(&next, run_link, (void *)(left - 1));
	nr_wrong += drover_pool_submit(pool, &next) ||
		    drover_pool_wait(pool, &next, &result);
	return result + 1;
}

static void one_chain(struct submitter *s)
{
	drover_task_t first;
	int result = -1;

	drover_task_init(&first, run_link, (void *)(intptr_t)(DEEP - 1));
	nr_wrong += drover_pool_submit(pool, &first) ||
		    wait_somehow(s, &first, &result) || result != DEEP - 1;
	s->nr_tasks += DEEP;
	s->nr_done += DEEP;
}

static int run_part(size_t begin, size_t end, void *nr_parts)
{
	*(atomic_int *)nr_parts += end - begin;
	return 0;
}

static void one_loop(void)
{
	atomic_int nr_parts = 0;

	nr_wrong += drover_pool_for(pool, 0, PARTS, 1, run_part, &nr_parts) ||
		    nr_parts != PARTS;
}

/* Submitted at once, or one by one, and then some are cancelled. */
static void one_batch(struct submitter *s)
{
	drover_task_t tasks[BATCH];
	struct job jobs[BATCH], children[BATCH][2];
	bool at_once = random_below(&s->random, 2);

	for (int i = 0; i < BATCH; i++) {
		bool parent = random_below(&s->random, 8) == 0;
		bool slow = parent && random_below(&s->random, 64) == 0;

		job_init(&children[i][0], i, NULL, slow);
		job_init(&children[i][1], i + 1, NULL, slow);
		job_init(&jobs[i], i, parent ? children[i] : NULL, slow);
		drover_task_init(&tasks[i], run_job, &jobs[i]);
		s->nr_tasks += 1 + 2 * parent;
		nr_wrong += !at_once && drover_pool_submit(pool, &jobs[i].task);
	}
	if (at_once)
		nr_wrong += !!drover_pool_submit_batch(pool, tasks, BATCH);
	else if (random_below(&s->random, 4) == 0)
		for (int i = 0; i < BATCH; i += 3)
			if (!drover_pool_cancel(pool, &jobs[i].task) &&
			    jobs[i].children)
				s->nr_cancelled += 2;
	for (int i = BATCH; i--;)
		finish(s, &jobs[i], at_once ? &tasks[i] : &jobs[i].task);
	s->nr_posted += !drover_pool_post(pool, run_post, NULL);
}

/* The long form takes minutes: a line for each tenth, and no hang of hours. */
static void *submit_all(void *arg)
{
	struct submitter *s = arg;
	unsigned long tenth = nr_wanted / 10, next = tenth;

	while (s->nr_tasks < nr_wanted) {
		one_batch(s);
		if (random_below(&s->random, 8) == 0)
			one_chain(s);
		if (random_below(&s->random, 8) == 0)
			one_loop();
		if (s->nr_tasks < next || nr_wanted < LONG)
			continue;
		watchdog("tasks");
		tap_diag("a submitter has had %lu tasks done", s->nr_tasks);
		next += tenth;
	}
	return NULL;
}

static cpu_set_t all_cpus, cpu;
static atomic_bool over;

static int has_other(pid_t tid, const void *set)
{
	cpu_set_t now;

	return sched_getaffinity(tid, sizeof(now), &now) ||
	       !CPU_EQUAL(&now, (const cpu_set_t *)set);
}

static void *change_cpus(void *arg)
{
	while (!over) {
		for_all_threads(run_on, &cpu);
		sched_yield();
		for_all_threads(run_on, &all_cpus);
		sched_yield();
	}
	return arg;
}

static void test_storm(unsigned int nr, bool changing, uint64_t *seed)
{
	struct submitter all[NR_SUBMITTERS] = { 0 }, sum = { 0 };
	drover_poolstats_t stats;
	pthread_t changer;

	watchdog("tasks");
	begin(nr);
	over = !changing;
	changer = thread_of(change_cpus, NULL);
	nr_jobs_run = nr_post_run = 0;
	for (int i = 0; i < NR_SUBMITTERS; i++) {
		all[i].random = random_next(seed);
		start_thread(&all[i].thread, submit_all, &all[i]);
	}
	for (int i = 0; i < NR_SUBMITTERS; i++) {
		joined(all[i].thread);
		sum.nr_tasks += all[i].nr_tasks;
		sum.nr_done += all[i].nr_done;
		sum.nr_cancelled += all[i].nr_cancelled;
		sum.nr_posted += all[i].nr_posted;
	}
	drover_pool_wait_all(pool);
	over = true;
	joined(changer);
	stats = stats_of(pool);
	tap_is(nr_wrong, 0, "%u workers: all as it should be", nr);
	tap_is(sum.nr_done + sum.nr_cancelled, sum.nr_tasks,
	       "%u workers: of %lu tasks none is lost", nr, sum.nr_tasks);
	tap_is(nr_jobs_run, sum.nr_done, "%u workers: none ran twice", nr);
	tap_is(nr_post_run, sum.nr_posted, "%u workers: nor did posts", nr);
	/* It also counts who helps in loops. */
	tap_ok(stats.tasks >= sum.nr_done + sum.nr_posted,
	       "%u workers: the pool counts no fewer", nr);
	tap_diag("steals %lu, helped %lu, sleeps %lu, blocks %lu, threads %lu",
		 stats.steals, stats.helped, stats.sleeps, stats.blocks,
		 stats.threads);
	/* When nobody changes their CPUs any more */
	if (changing) {
		await_sleep(stats.threads);
		for_all_threads(run_on, &all_cpus);
		for (int i = 0; i < 200; i++)
			one_loop();
		await_sleep(stats.threads);
		tap_is(for_all_threads(has_other, &all_cpus), 0,
		       "all threads have the CPUs that they were given");
	}
	end();
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "seed tasks");
	uint64_t seed = args_get(&args, "seed", args_fresh_seed());

	nr_wanted = args_get(&args, "tasks", 300000) / 3 / NR_SUBMITTERS;
	tap_plan(3 * 5 + 1);
	cpu = one_cpu();
	all_cpus = own_cpus();
	tap_diag("seed=%" PRIu64, seed);
	test_storm(1, false, &seed);
	test_storm(2, false, &seed);
	test_storm(5, true, &seed);
	return tap_exit();
}
