// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many threads submit tasks in all ways, and call loops and gangs. Tasks submit
 * tasks and wait for them, and some tasks are cancelled. Meanwhile the CPUs of
 * all threads change, or the pool is shut down. Each accepted task runs once or
 * is cancelled, its result is returned, and no call hangs.
 *
 *	seed=N tasks=N	tasks=100000000 takes minutes, and is part of check-long
 */
#include <sys/param.h>

#include <drover/barrier.h>

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
	bool slow, accepted;
};

static atomic_ulong nr_accepted, nr_ran, nr_cancelled;
static atomic_int nr_wrong;
static atomic_bool over, shut;
static unsigned long nr_wanted;
static uint64_t seed;

/* The counters order no other accesses. */
static void add(atomic_ulong *to, unsigned long nr)
{
	atomic_fetch_add_explicit(to, nr, memory_order_relaxed);
}

static unsigned long now(atomic_ulong *nr)
{
	return atomic_load_explicit(nr, memory_order_relaxed);
}

#define CHECK(right) check(right, #right)

static void check(bool right, const char *what)
{
	if (!right && !nr_wrong++)
		tap_diag("the first check that failed: %s", what);
}

/* Were @nr tasks accepted? Only a pool that is shut down refuses them. */
static bool accepted(int err, int nr)
{
	CHECK(!err || (err == ESHUTDOWN && shut));
	if (!err)
		add(&nr_accepted, nr);
	return !err;
}

/*
 * The waiting thread may run the task; or, as the wait has a deadline, only a
 * worker can.
 */
static int wait_somehow(drover_task_t *task, bool by_worker, int *result)
{
	struct timespec never = { .tv_sec = INT32_MAX };

	if (!by_worker)
		return drover_pool_wait(pool, task, result);
	return drover_pool_clockwait(pool, task, CLOCK_REALTIME, &never,
				     result);
}

/* Wait for @job, which was submitted as @task, and check its result. */
static int finish(struct job *job, drover_task_t *task, bool by_worker)
{
	int wanted = job->number * 2, result = 0, err;

	if (!job->accepted)
		return 0;
	err = wait_somehow(task, by_worker, &result);
	for (int i = 0; job->children && i < 2; i++)
		if (job->children[i].nr_runs)
			wanted += job->children[i].number * 2;
	CHECK(err ? err == ECANCELED && !job->nr_runs :
		    job->nr_runs == 1 && result == wanted);
	return result;
}

static int run_post(void *arg)
{
	add(&nr_ran, 1);
	return 0;
}

/* Return: twice the job's number, plus the results of its children. */
static int run_job(void *arg)
{
	struct job *job = arg, *child = job->children;
	int64_t until = blocked_now_ns() + (job->slow ? SLOW_NS : 0);
	int sum = job->number * 2;

	job->nr_runs++;
	add(&nr_ran, 1);
	for (int i = 0; child && i < 2; i++)
		child[i].accepted =
			accepted(drover_pool_submit(pool, &child[i].task), 1);
	/* Other threads may take the children; longer than a waiter polls. */
	while (job->slow && blocked_now_ns() < until)
		;
	for (int i = 0; child && i < 2; i++)
		sum += finish(&child[i], &child[i].task, false);
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

/* A chain of @left + 1 tasks: each submits the next one and waits for it. */
static int chain(intptr_t left, bool by_worker);

static int run_link(void *left)
{
	add(&nr_ran, 1);
	return left ? chain((intptr_t)left - 1, false) : 0;
}

static int chain(intptr_t left, bool by_worker)
{
	drover_task_t task;
	int result = -1, err;

	drover_task_init(&task, run_link, (void *)left);
	if (!accepted(drover_pool_submit(pool, &task), 1))
		return 0;
	err = wait_somehow(&task, by_worker, &result);
	CHECK(!err || (err == ECANCELED && shut));
	return result + 1;
}

static int run_part(size_t begin, size_t end, void *nr_parts)
{
	*(atomic_int *)nr_parts += end - begin;
	return 0;
}

static void one_loop(void)
{
	atomic_int nr_parts = 0;

	CHECK(!drover_pool_for(pool, 0, PARTS, 1, run_part, &nr_parts) &&
	      nr_parts == PARTS);
}

static int meet(size_t begin, size_t end, const drover_part_t *part,
		void *barrier)
{
	return drover_barrier_wait(barrier) > 0;
}

/*
 * A gang of two: each pool is large enough, if no other gang has its workers.
 */
static void one_gang(void)
{
	drover_barrier_t barrier = DROVER_BARRIER_INITIALIZER(2);
	drover_loop_t loop = {
		.function = meet, .arg = &barrier, .threads = 2, .gang = 1
	};
	int err = drover_pool_loop(pool, 0, 2, &loop);

	CHECK(!err || err == EAGAIN || (err == ESHUTDOWN && shut));
}

/* Tasks are submitted at once; or one by one, and then some are cancelled. */
static void one_batch(uint64_t *random)
{
	drover_task_t tasks[BATCH];
	struct job jobs[BATCH], children[BATCH][2];
	bool at_once = random_below(random, 2);

	for (int i = 0; i < BATCH; i++) {
		bool parent = random_below(random, 8) == 0;
		bool slow = parent && random_below(random, 64) == 0;

		job_init(&children[i][0], i, NULL, slow);
		job_init(&children[i][1], i + 1, NULL, slow);
		job_init(&jobs[i], i, parent ? children[i] : NULL, slow);
		drover_task_init(&tasks[i], run_job, &jobs[i]);
		if (!at_once)
			jobs[i].accepted = accepted(
				drover_pool_submit(pool, &jobs[i].task), 1);
	}
	if (at_once &&
	    accepted(drover_pool_submit_batch(pool, tasks, BATCH), BATCH))
		for (int i = 0; i < BATCH; i++)
			jobs[i].accepted = true;
	if (!at_once && random_below(random, 4) == 0)
		for (int i = 0; i < BATCH; i += 3)
			if (!drover_pool_cancel(pool, &jobs[i].task))
				add(&nr_cancelled, 1);
	for (int i = BATCH; i--;)
		finish(&jobs[i], at_once ? &tasks[i] : &jobs[i].task,
		       random_below(random, 8) == 0);
}

/*
 * A long run prints a line at each tenth, and sets the watchdog again, so that
 * a hang ends it soon.
 */
static void *submit_all(void *number)
{
	uint64_t random = seed + (intptr_t)number;
	unsigned long tenth = nr_wanted / 10, next = tenth;

	while (now(&nr_accepted) < nr_wanted &&
	       accepted(drover_pool_post(pool, run_post, NULL), 1)) {
		one_batch(&random);
		if (random_below(&random, 8) == 0)
			CHECK(chain(DEEP - 1, random_below(&random, 8) == 0) ==
				      DEEP ||
			      shut);
		if (random_below(&random, 8) == 0)
			one_loop();
		if (random_below(&random, 8) == 0)
			one_gang();
		if (number || now(&nr_accepted) < next || tenth < LONG / 10)
			continue;
		watchdog("tasks");
		tap_diag("%lu tasks", now(&nr_accepted));
		next += tenth;
	}
	return NULL;
}

/* ---- what happens meanwhile ---- */

static cpu_set_t all_cpus, cpu;

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

/* When no thread changes their CPUs any more */
static void test_cpus(int nr_threads)
{
	await_sleep(nr_threads);
	for_all_threads(run_on, &all_cpus);
	for (int i = 0; i < 200; i++)
		one_loop();
	await_sleep(nr_threads);
	tap_is(for_all_threads(has_other, &all_cpus), 0,
	       "all threads have the CPUs that they were given");
}

static void *shut_down(void *how)
{
	wait_until(now(&nr_accepted) > MIN(3000, nr_wanted / 2),
		   "no tasks are accepted");
	shut = true;
	CHECK(!drover_pool_shutdown(pool, (intptr_t)how));
	return NULL;
}

static const struct storm {
	const char *what;
	int nr_workers, rounds;
	void *(*meanwhile)(void *how);
	enum drover_pool_end how;
} storms[] = {
	{ "1 worker", 1, 1, NULL, 0 },
	{ "2 workers", 2, 1, NULL, 0 },
	{ "5 workers, their CPUs change", 5, 1, change_cpus, 0 },
	{ "a shutdown that drains", 2, 12, shut_down, DROVER_POOL_DRAIN },
	{ "a shutdown that cancels", 2, 12, shut_down, DROVER_POOL_CANCEL },
};

static void one_round(const struct storm *storm)
{
	drover_poolstats_t stats;
	pthread_t meanwhile = 0;

	begin(storm->nr_workers);
	nr_accepted = nr_ran = nr_cancelled = 0;
	over = shut = false;
	if (storm->meanwhile)
		meanwhile = thread_of(storm->meanwhile, (void *)storm->how);
	run_threads(NR_SUBMITTERS, submit_all);
	over = true;
	if (storm->meanwhile)
		joined(meanwhile);
	if (!shut)
		drover_pool_wait_all(pool);
	stats = stats_of(pool);
	CHECK(nr_ran + stats.cancelled == nr_accepted);
	CHECK(stats.cancelled == nr_cancelled ||
	      storm->how == DROVER_POOL_CANCEL);
	/* @tasks also counts the helpers of loops. */
	CHECK(stats.tasks >= nr_ran);
	tap_diag(
		"%lu tasks, steals %lu, helped %lu, sleeps %lu, blocks %lu, threads %lu",
		stats.tasks, stats.steals, stats.helped, stats.sleeps,
		stats.blocks, stats.threads);
	if (storm->meanwhile == change_cpus)
		test_cpus(stats.threads);
	if (!shut)
		end();
	else
		drover_pool_free(pool);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "seed tasks");
	uint64_t fresh = args_get(&args, "seed", args_fresh_seed());

	nr_wanted = args_get(&args, "tasks", 300000) / 3;
	tap_plan(NR_OF(storms) + 1);
	cpu = one_cpu();
	all_cpus = own_cpus();
	tap_diag("seed=%" PRIu64, fresh);
	for (int i = 0; i < NR_OF(storms); i++) {
		watchdog(storms[i].what);
		for (int round = 0; round < storms[i].rounds; round++) {
			seed = random_next(&fresh);
			one_round(&storms[i]);
		}
		tap_is(nr_wrong, 0, "%s: no task is lost, and none runs twice",
		       storms[i].what);
	}
	return tap_exit();
}
