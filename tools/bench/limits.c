// SPDX-License-Identifier: MIT
/*
 * pthread_create() returns EAGAIN for half a dozen different limits. Find the
 * limit that was reached, so that the message can say which setting to change.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench.h"

/* After a wrap the kernel gives out no pid below this. */
#define RESERVED_PIDS 300

/*
 * The first number in @path, or @missing: "max" in a cgroup file is no number.
 */
static uint64_t number_in(const char *path, uint64_t missing)
{
	FILE *file = fopen(path, "re");
	uint64_t value = missing;

	if (!file)
		return missing;
	if (fscanf(file, "%" SCNu64, &value) != 1)
		value = missing;
	fclose(file);
	return value;
}

static uint64_t lines_in(const char *path)
{
	FILE *file = fopen(path, "re");
	uint64_t lines = 0;
	int c;

	if (!file)
		return 0;
	while ((c = getc(file)) != EOF)
		lines += c == '\n';
	fclose(file);
	return lines;
}

/* All threads of the system: 123 in "0.00 0.01 0.05 1/123 4567" */
static uint64_t tasks_now(void)
{
	FILE *file = fopen("/proc/loadavg", "re");
	uint64_t tasks = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%*s %*s %*s %*u/%" SCNu64, &tasks) != 1)
		tasks = 0;
	fclose(file);
	return tasks;
}

/*
 * The functions below look at one kind of limit each. If it is the reason, they
 * write it to @why and return true.
 */
#define WHY_SIZE 512

static bool is_memory(char *why, uint64_t stack)
{
	uint64_t max_maps = number_in("/proc/sys/vm/max_map_count", UINT64_MAX);
	size_t bytes = stack + sysconf(_SC_PAGESIZE); /* its guard page */
	struct rlimit space;
	void *probe;

	/* A stack is two mappings: itself and its guard page. */
	if (lines_in("/proc/self/maps") + 2 >= max_maps) {
		snprintf(why, WHY_SIZE,
			 "vm.max_map_count is %" PRIu64
			 " mappings; raise it with sysctl",
			 max_maps);
		return true;
	}
	probe = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (probe != MAP_FAILED) {
		munmap(probe, bytes);
		return false;
	}
	getrlimit(RLIMIT_AS, &space);
	if (space.rlim_cur != RLIM_INFINITY)
		snprintf(
			why, WHY_SIZE,
			"RLIMIT_AS is %" PRIu64
			" bytes of address space; raise it with ulimit -v, or use a smaller -S",
			(uint64_t)space.rlim_cur);
	else
		snprintf(why, WHY_SIZE,
			 "no memory for a stack of %" PRIu64
			 " bytes; use a smaller -S",
			 stack);
	return true;
}

static bool is_cgroup(char *why)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char group[256] = "", path[320];
	uint64_t now, max;

	if (!file)
		return false;
	if (fscanf(file, "0::%255s", group) != 1)
		group[0] = '\0';
	fclose(file);
	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/pids.current", group);
	now = number_in(path, 0);
	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/pids.max", group);
	max = number_in(path, UINT64_MAX);
	if (now < max)
		return false;
	snprintf(why, WHY_SIZE, "%s is %" PRIu64, path, max);
	return true;
}

static bool is_system(char *why)
{
	uint64_t tasks = tasks_now();
	uint64_t threads_max =
		number_in("/proc/sys/kernel/threads-max", UINT64_MAX);
	uint64_t pid_max = number_in("/proc/sys/kernel/pid_max", UINT64_MAX);

	if (tasks + 1 >= threads_max)
		snprintf(why, WHY_SIZE,
			 "kernel.threads-max is %" PRIu64
			 "; raise it with sysctl",
			 threads_max);
	else if (tasks + RESERVED_PIDS >= pid_max)
		snprintf(why, WHY_SIZE,
			 "kernel.pid_max is %" PRIu64 "; raise it with sysctl",
			 pid_max);
	else
		return false;
	return true;
}

static void default_reason(char *why)
{
	struct rlimit processes;

	getrlimit(RLIMIT_NPROC, &processes);
	if (processes.rlim_cur != RLIM_INFINITY)
		snprintf(why, WHY_SIZE,
			 "RLIMIT_NPROC is %" PRIu64
			 " threads of this user; raise it with ulimit -u",
			 (uint64_t)processes.rlim_cur);
	else
		snprintf(
			why, WHY_SIZE,
			"no limit is reached; the kernel may be out of memory");
}

void bench_explain_no_thread(size_t started, size_t wanted, uint64_t stack,
			     int error)
{
	char why[WHY_SIZE];

	if (!is_memory(why, stack) && !is_cgroup(why) && !is_system(why))
		default_reason(why);
	bench_error("thread %zu of %zu refused (%s): %s", started + 1, wanted,
		    strerror(error), why);
}
