// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many workers a pool has by default, where they run and how they are
 * called: the affinity and the cgroup's limit say so. Limits are tried out in a
 * cgroup of the test's own, where it may make one.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blocked.h"
#include "blocks.h"
#include "tap.h"

static uint64_t nr_workers(void)
{
	drover_poolstats_t stats;
	drover_pool_t *pool = pool_of(0);

	drover_pool_stats(pool, &stats);
	pool_end(pool, DROVER_POOL_DRAIN);
	return stats.workers;
}

static int run_on(void *arg)
{
	cpu_set_t *set = arg;

	return sched_getaffinity(0, sizeof(*set), set);
}

static int name_of(void *arg)
{
	return pthread_getname_np(pthread_self(), arg, 16);
}

static void test_placed(void)
{
	drover_poolattr_t attr = { .workers = 1,
				   .flags = DROVER_POOL_PIN,
				   .name = "a-rather-long-name" };
	drover_pool_t *pool;
	cpu_set_t set;
	char name[16] = "";

	if (drover_pool_create(&pool, &attr))
		tap_bail("no pool");
	/* Posted, so that no waiting thread runs them. */
	drover_pool_post(pool, run_on, &set);
	drover_pool_post(pool, name_of, name);
	drover_pool_wait_all(pool);
	tap_is(CPU_COUNT(&set), 1, "a pinned worker has one CPU");
	tap_ok(!strcmp(name, "a-rather-long-0"), "it is called %s", name);
	pool_end(pool, DROVER_POOL_DRAIN);
}

static bool write_file(const char *folder, const char *name, const char *text)
{
	char path[256];
	int fd;
	bool done;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return done;
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
	const char *name = "a cgroup's limit";
	int nr = 0;

	snprintf(folder, sizeof(folder), "%s/drover-test-%d", mount, getpid());
	if (mkdir(folder, 0755)) {
		tap_skip(name, "no cgroup can be made here");
		return;
	}
	if (write_file(folder, file, limit))
		nr = workers_in(folder);
	rmdir(folder);
	if (nr)
		tap_is(nr, 1, "%s: one worker", file);
	else
		tap_skip(name, "the cgroup cannot be limited or entered");
}

/* All threads of the process. */
static void run_all_on(const cpu_set_t *set)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			sched_setaffinity(atoi(entry->d_name), sizeof(*set),
					  set);
	if (dir)
		closedir(dir);
}

static int nothing(void *arg)
{
	return arg != NULL;
}

/* Does a pool at work come to have @nr workers? */
static bool becomes(drover_pool_t *pool, uint64_t nr)
{
	int64_t deadline = blocked_deadline();
	drover_poolstats_t stats;

	do {
		for (int i = 0; i < 100; i++)
			drover_pool_post(pool, nothing, NULL);
		drover_pool_wait_all(pool);
		drover_pool_stats(pool, &stats);
	} while (stats.workers != nr && !blocked_over(deadline));
	return stats.workers == nr;
}

static void test_follows(const cpu_set_t *all, const cpu_set_t *one)
{
	drover_pool_t *pool = pool_of(0);
	drover_poolstats_t stats;

	drover_pool_stats(pool, &stats);
	run_all_on(one);
	tap_ok(becomes(pool, 1), "CPUs go: so do workers");
	run_all_on(all);
	tap_ok(becomes(pool, stats.workers), "and come back");
	pool_end(pool, DROVER_POOL_DRAIN);
}

int main(void)
{
	cpu_set_t all, one;
	int cpu = 0;

	watchdog("worker count");
	tap_plan(4 + 2 + 2);
	sched_getaffinity(0, sizeof(all), &all);
	/* A quota may leave fewer. */
	tap_ok(nr_workers() >= 1 && nr_workers() <= (unsigned)CPU_COUNT(&all),
	       "as many workers as CPUs, at most");
	test_placed();
	test_limit("/sys/fs/cgroup", "cpu.max", "100000 100000");
	test_limit("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "100000");
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	test_follows(&all, &one);
	sched_setaffinity(0, sizeof(one), &one);
	tap_is(nr_workers(), 1, "one CPU: one worker");
	return tap_exit();
}
