// SPDX-License-Identifier: GPL-2.0-only
/*
 * The affinity and a cgroup's limit decide how many workers a pool has by
 * default, even when they change later. The attributes decide how workers
 * begin, where they run, and their names.
 */
#include <sys/stat.h>

#include "tasks.h"

/* A worker at work finds out how many CPUs there are, whatever its stack. */
#if FORK_THREADS_WORK
#define STACK PTHREAD_STACK_MIN
#else
#define STACK 0
#endif

static uint64_t nr_all; /* workers of a pool without a limit */

static uint64_t nr_workers(void)
{
	uint64_t nr;

	begin(0);
	nr = stats_of(pool).workers;
	end();
	return nr;
}

static atomic_int nr_started, nr_stopped;
static _Thread_local int number;

static void start(unsigned int worker, void *nr)
{
	number = (int)worker + 1;
	++*(atomic_int *)nr;
}

/* In a worker: is it as the attributes say? */
static int is_placed(void *wanted)
{
	char name[16] = "";
	sigset_t blocked;
	cpu_set_t set;

	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	pthread_getname_np(pthread_self(), name, sizeof(name));
	return number && !sched_getaffinity(0, sizeof(set), &set) &&
	       CPU_EQUAL(&set, (cpu_set_t *)wanted) &&
	       !strncmp(name, "a-rather-l-", 11) &&
	       sigismember(&blocked, SIGTERM) &&
	       sigismember(&blocked, SIGALRM) &&
	       !sigismember(&blocked, SIGSEGV);
}

static void stop(unsigned int worker, void *arg)
{
	nr_stopped += number == (int)worker + 1 &&
		      drover_pool_post(pool, is_placed, NULL) == ESHUTDOWN;
}

static void test_placed(void)
{
	cpu_set_t one = one_cpu();
	drover_poolattr_t attr = { .workers = 3,
				   .cpu_sets = &one,
				   .nr_cpu_sets = 1,
				   .start = start,
				   .stop = stop,
				   .arg = &nr_started,
				   .name = "a-rather-long-name" };
	drover_task_t task;

	begin_with(attr);
	submit(&task, is_placed, &one);
	drover_pool_wait_all(pool);
	tap_is(result_of(&task), 1,
	       "a worker has called start, is on its CPU, and blocks signals");
	end();
	tap_is(nr_started, 3, "each worker calls start once");
	tap_is(nr_stopped, 3, "each calls stop once, and cannot post then");
	CPU_ZERO(&one);
	tap_is(drover_pool_create(&pool, &attr), EINVAL, "a set without a CPU");
	attr.nr_cpu_sets = 0;
	tap_is(drover_pool_create(&pool, &attr), EINVAL, "an array of no sets");
}

static cpu_set_t everywhere;

static bool is_as_created(void)
{
	cpu_set_t set;

	return !sched_getaffinity(0, sizeof(set), &set) &&
	       CPU_EQUAL(&set, &everywhere) && sched_getscheduler(0) == 0;
}

static int look_at_worker(void *arg)
{
	return is_as_created();
}

/*
 * The worker changes its own affinity and policy. Then it waits for a task,
 * which a new worker runs.
 */
static int wait_as_another(void *task)
{
	struct timespec never = { .tv_sec = INT32_MAX };
	struct sched_param none = { 0 };
	cpu_set_t one = one_cpu();
	int result = 0;

	sched_setaffinity(0, sizeof(one), &one);
	sched_setscheduler(0, SCHED_BATCH, &none);
	submit(task, look_at_worker, NULL);
	drover_pool_clockwait(pool, task, CLOCK_REALTIME, &never, &result);
	return result;
}

static void test_later_worker(void)
{
	drover_task_t waits, looks;

	everywhere = own_cpus();
	begin(1);
	submit(&waits, wait_as_another, &looks);
	drover_pool_wait_all(pool);
	tap_is(result_of(&waits), 1,
	       "a later worker has the affinity and policy of the creator");
	end();
}

static void *begin_on_one(void *arg)
{
	cpu_set_t one = one_cpu();

	sched_setaffinity(0, sizeof(one), &one);
	begin(0);
	return arg;
}

/* The creator has fewer CPUs than the process, and so have the workers. */
static void test_whose_cpus(void)
{
	joined(thread_of(begin_on_one, NULL));
	tap_is(stats_of(pool).workers, 1, "a thread with one CPU: one worker");
	MUST(drover_pool_resize(pool, 0));
	tap_is(stats_of(pool).workers, 1,
	       "a resize counts the workers' CPUs, not the caller's");
	end();
}

static bool write_file(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "r+");
	if (!file)
		return false;
	fputs(text, file);
	return !fclose(file);
}

/* All threads get these CPUs. Does the pool have @nr workers after a while? */
static bool becomes(const cpu_set_t *set, uint64_t nr)
{
	int64_t deadline = blocked_deadline();

	do {
		/*
		 * A worker that is woken elsewhere may get its old CPUs back.
		 */
		for_all_threads(run_on, set);
		for (int i = 0; i < 100; i++)
			drover_pool_post(pool, count, NULL);
		drover_pool_wait_all(pool);
	} while (stats_of(pool).workers != nr && !blocked_over(deadline));
	return stats_of(pool).workers == nr;
}

/* ---- the limit of a cgroup ---- */
static const char *file, *no_limit;
static char folder[128];

/*
 * Runs in a child, so that only the child goes into the cgroup. Bit 0: there
 * was one worker; bit 1: there were all without the limit; bit 2: there were
 * more with it.
 */
static bool find_workers(void)
{
	cpu_set_t all;
	int found;

	if (!write_file(folder, "cgroup.procs", "0"))
		_exit(0);
	all = own_cpus();
	begin(0);
	found = stats_of(pool).workers == 1 ? 1 : 4;
	write_file(folder, file, no_limit);
	_exit(becomes(&all, nr_all) ? found | 2 : found);
}

static void test_limit(const char *mount, const char *limit)
{
	int found = 0;

	snprintf(folder, sizeof(folder), "%s/drover-test-%d", mount, getpid());
	if (!mkdir(folder, 0755)) {
		if (write_file(folder, file, limit))
			found = child_status(find_workers, "in the cgroup");
		rmdir(folder);
	}
	if (found)
		tap_is(found, 3, "%s: one worker, and all without the limit",
		       file);
	else
		tap_skip(file, "no cgroup can be made, limited, and entered");
}

int main(void)
{
	cpu_set_t all = own_cpus(), one = one_cpu();

	watchdog("worker count");
	tap_plan(1 + 5 + 3 + 2 + 3);
	nr_all = nr_workers();
	/* With a quota there may be fewer. */
	tap_ok(nr_all >= 1 && nr_all <= (unsigned)CPU_COUNT(&all),
	       "as many workers as CPUs, at most");
	test_placed();
	test_later_worker();
	test_whose_cpus();
	file = "cpu.max";
	no_limit = "max 100000";
	test_limit("/sys/fs/cgroup", "100000 100000");
	file = "cpu.cfs_quota_us";
	no_limit = "-1";
	test_limit("/sys/fs/cgroup/cpu", "100000");
	begin_with((drover_poolattr_t){ .stack = STACK });
	tap_ok(becomes(&one, 1), "the CPUs become one, and so do the workers");
	tap_ok(becomes(&all, nr_all), "with all CPUs, all workers are back");
	end();
	sched_setaffinity(0, sizeof(one), &one);
	tap_is(nr_workers(), 1, "one CPU: one worker");
	return tap_exit();
}
