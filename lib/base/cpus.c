// SPDX-License-Identifier: MIT
/*
 * The number of CPUs follows from the affinity and from the CPU bandwidth of
 * the cgroup: cpu.max in the second version of cgroups, cpu.cfs_quota_us and
 * cpu.cfs_period_us in the first. A limit of any folder above applies, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/cpus.h"

/* A multiple of CPU_SETSIZE. */
#define MOST_CPUS 8192

/* The capacity of the fastest CPU: the kernel scales capacities to it. */
#define MOST_CAPACITY 1024

/* The caller's stack may be small. The limit of a longer path is not found. */
#define MOST_PATH 512

/* The cgroup's limit in CPUs, as it was read last; UINT32_MAX: no limit. */
static _Atomic uint32_t limit_known = UINT32_MAX;

/* Read a file. @text is empty if there is no file. errno stays as it is. */
static void read_text(const char *path, char *text, size_t size)
{
	/* open(), read() and close() would be cancellation points. */
	int saved = errno;
	long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	long len = 0;

	if (fd >= 0) {
		len = syscall(SYS_read, fd, text, size - 1);
		syscall(SYS_close, fd);
	}
	text[MAX(len, 0)] = '\0';
	errno = saved;
}

/* Lower @least to the limit that one folder sets. */
static void folder_limit(const char *folder, bool second, uint32_t *least)
{
	char path[MOST_PATH + 32], text[64];
	long long quota = 0, period = 0;

	snprintf(path, sizeof(path), "%s/%s", folder,
		 second ? "cpu.max" : "cpu.cfs_quota_us");
	read_text(path, text, sizeof(text));
	sscanf(text, "%lld %lld", &quota, &period); /* or "max" */
	if (!second) {
		snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", folder);
		read_text(path, text, sizeof(text));
		period = atoll(text);
	}
	if (quota > 0 && period > 0)
		*least = (uint32_t)MIN((quota + period - 1) / period, *least);
}

/* Lower @least to the limits of the folder @mount@name and of all above it. */
static void path_limit(const char *mount, const char *name, bool second,
		       uint32_t *least)
{
	char folder[MOST_PATH], *slash;

	snprintf(folder, sizeof(folder), "%s%s", mount, name);
	folder_limit(folder, second, least);
	while ((slash = strrchr(folder + strlen(mount), '/'))) {
		*slash = '\0';
		folder_limit(folder, second, least);
	}
}

/* One line of /proc/self/cgroup, "id:controllers:/path". */
static void line_limit(char *line, uint32_t *least)
{
	char *controllers, *each;

	strsep(&line, ":");
	controllers = strsep(&line, ":");
	if (!line)
		return;
	if (!*controllers)
		path_limit("/sys/fs/cgroup", line, true, least);
	while ((each = strsep(&controllers, ",")))
		if (strcmp(each, "cpu") == 0)
			path_limit("/sys/fs/cgroup/cpu", line, false, least);
}

static void read_limit(void)
{
	uint32_t least = UINT32_MAX;
	char text[2048], *rest = text, *line;

	read_text("/proc/self/cgroup", text, sizeof(text));
	while ((line = strsep(&rest, "\n")))
		line_limit(line, &least);
	store_relaxed(&limit_known, least);
}

unsigned int cpus_usable_by(pid_t tid)
{
	cpu_set_t set[MOST_CPUS / CPU_SETSIZE] = { 0 };
	unsigned int limit = load_relaxed(&limit_known), nr;
	int saved = errno;

	sched_getaffinity(tid, sizeof(set), set);
	errno = saved;
	nr = CPU_COUNT_S(sizeof(set), set);
	return MAX(MIN(nr, limit), 1);
}

unsigned int cpus_usable(void)
{
	unsigned int own, first;
	int saved = errno;

	read_limit();
	errno = saved;
	own = cpus_usable_by(0);
	first = cpus_usable_by(getpid());
	return MAX(own, first);
}

/* ---- hybrid processors ---- */

static atomic_bool small[MOST_CPUS];

static void note_small(unsigned int first, unsigned int last)
{
	for (; first <= last && first < MOST_CPUS; first++)
		store_relaxed(&small[first], true);
}

static long capacity_of(unsigned int cpu)
{
	char path[64], text[32];

	snprintf(path, sizeof(path),
		 "/sys/devices/system/cpu/cpu%u/cpu_capacity", cpu);
	read_text(path, text, sizeof(text));
	return atol(text);
}

void cpus_look_at_sizes(void)
{
	static atomic_bool looked;
	char text[4096], *list = text, *each;
	long capacity;

	if (swap_relaxed(&looked, true))
		return;
	/* Such as "4-7,12". */
	read_text("/sys/devices/cpu_atom/cpus", text, sizeof(text));
	while ((each = strsep(&list, ","))) {
		unsigned int first = 1, last = 0;

		if (sscanf(each, "%u-%u", &first, &last) == 1)
			last = first;
		note_small(first, last);
	}
	for (unsigned int cpu = 0; (capacity = capacity_of(cpu)); cpu++)
		if (capacity < MOST_CAPACITY * 3 / 4)
			note_small(cpu, cpu);
}

bool cpu_is_small(int cpu)
{
	return cpu >= 0 && cpu < MOST_CPUS && load_relaxed(&small[cpu]);
}
