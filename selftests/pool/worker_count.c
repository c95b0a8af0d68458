// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many workers a pool has by default, where they run and how they are
 * called: the affinity and the cgroup's limit say so. Limits are tried out in a
 * cgroup of the test's own, where it may make one.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include "tasks.h"

/* A worker at work finds out how many CPUs there are, whatever its stack. */
#if CHILDREN_MAY_HAVE_THREADS && FRAMES_MAY_UNWIND
#define STACK PTHREAD_STACK_MIN
#else
#define STACK 0
#endif

static uint64_t nr_workers(void)
{
	uint64_t nr;

	begin(0);
	nr = stats_of(pool).workers;
	end();
	return nr;
}

static int run_on(void *set)
{
	return sched_getaffinity(0, sizeof(cpu_set_t), set);
}

static int name_of(void *name)
{
	return pthread_getname_np(pthread_self(), name, 16);
}

static void test_placed(void)
{
	cpu_set_t set, last = { 0 };
	int cpu = CPU_SETSIZE;
	char name[16] = "";

	sched_getaffinity(0, sizeof(set), &set);
	while (!CPU_ISSET(--cpu, &set))
		;
	CPU_SET(cpu, &last);
	begin_with((drover_poolattr_t){ .workers = 1,
					.cpu_sets = &last,
					.nr_cpu_sets = 1,
					.name = "a-rather-long-name" });
	/* Posted, so that no waiting thread runs them. */
	drover_pool_post(pool, run_on, &set);
	drover_pool_post(pool, name_of, name);
	drover_pool_wait_all(pool);
	tap_ok(CPU_EQUAL(&set, &last), "a worker has the CPUs of its set");
	tap_ok(!strcmp(name, "a-rather-l-0"), "it is called %s", name);
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

/* In a child, which alone goes into the cgroup: its workers, or 0. */
static int workers_in(const char *folder)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0)
		_exit(write_file(folder, "cgroup.procs", "0") ? nr_workers() :
								0);
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_limit(const char *mount, const char *file, const char *limit)
{
	char folder[128];
	int nr = 0;

	snprintf(folder, sizeof(folder), "%s/drover-test-%d", mount, getpid());
	if (!mkdir(folder, 0755)) {
		if (write_file(folder, file, limit))
			nr = workers_in(folder);
		rmdir(folder);
	}
	if (nr)
		tap_is(nr, 1, "%s: one worker", file);
	else
		tap_skip(file, "no cgroup can be made, limited, and entered");
}

static int run_thread_on(pid_t tid, const void *set)
{
	return sched_setaffinity(tid, sizeof(cpu_set_t), set);
}

/* When all threads are put on these CPUs, does the pool come to have @nr workers? */
static bool becomes(const cpu_set_t *set, uint64_t nr)
{
	int64_t deadline = blocked_deadline();

	for_all_threads(run_thread_on, set);
	do {
		for (int i = 0; i < 100; i++)
			drover_pool_post(pool, count, NULL);
		drover_pool_wait_all(pool);
	} while (stats_of(pool).workers != nr && !blocked_over(deadline));
	return stats_of(pool).workers == nr;
}

int main(void)
{
	cpu_set_t all, one = one_cpu();
	uint64_t before = nr_workers();

	watchdog("worker count");
	tap_plan(4 + 2 + 2);
	sched_getaffinity(0, sizeof(all), &all);
	/* A quota may leave fewer. */
	tap_ok(before >= 1 && before <= (unsigned)CPU_COUNT(&all),
	       "as many workers as CPUs, at most");
	test_placed();
	test_limit("/sys/fs/cgroup", "cpu.max", "100000 100000");
	test_limit("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "100000");
	begin_with((drover_poolattr_t){ .stack = STACK });
	tap_ok(becomes(&one, 1), "CPUs go: so do workers");
	tap_ok(becomes(&all, before), "and come back");
	end();
	sched_setaffinity(0, sizeof(one), &one);
	tap_is(nr_workers(), 1, "one CPU: one worker");
	return tap_exit();
}
