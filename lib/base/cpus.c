// SPDX-License-Identifier: MIT
/*
 * The affinity, and the cgroup's CPU bandwidth: cpu.max in the second version
 * of cgroups, cpu.cfs_quota_us and cpu.cfs_period_us in the first. A limit of
 * any folder above counts, too.
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

#include "base/cpus.h"
#include "base/fork.h"

/* Room for 8192 CPUs. */
#define MASK_WORDS (8192 / 64)

#define NO_LIMIT UINT32_MAX

/* Of the fastest CPU, whatever it is: the kernel scales them so. */
#define MOST_CAPACITY 1024

/*
 * The cgroup's limit in CPUs, as it was read last. The buffers are static, since
 * the reader's stack may be small; wiped.counting lets one thread read at a time.
 */
static _Atomic uint32_t limit_known = NO_LIMIT;

static unsigned int affinity_of(pid_t tid)
{
	cpu_set_t set[MASK_WORDS * 64 / CPU_SETSIZE] = { 0 };

	sched_getaffinity(tid, sizeof(set), set);
	return CPU_COUNT_S(sizeof(set), set);
}

/* What is in a file: nothing, if there is none. */
static void read_text(const char *path, char *text, size_t size)
{
	/* open(), read() and close() would be cancellation points. */
	long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	long len = 0;

	if (fd >= 0) {
		len = syscall(SYS_read, fd, text, size - 1);
		syscall(SYS_close, fd);
	}
	text[MAX(len, 0)] = '\0';
}

/* Lower @least to the limit that one folder sets. */
static void folder_limit(const char *folder, bool second, uint32_t *least)
{
	static char path[PATH_MAX + 32];
	long long quota = 0, period = 0;
	char text[64];

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
	static char folder[PATH_MAX];
	char *slash;

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

static uint32_t cgroup_limit(void)
{
	uint32_t least = NO_LIMIT;
	static char text[4096];
	char *rest = text, *line;

	/* The others take what is known. */
	if (swap_acquire(&wiped.counting, true))
		return load_relaxed(&limit_known);
	read_text("/proc/self/cgroup", text, sizeof(text));
	while ((line = strsep(&rest, "\n")))
		line_limit(line, &least);
	store_relaxed(&limit_known, least);
	store_release(&wiped.counting, false);
	return least;
}

unsigned int cpus_usable(void)
{
	int saved = errno;
	unsigned int nr = affinity_of(0), first = affinity_of(getpid());
	uint32_t limit = cgroup_limit();

	nr = MIN(MAX(nr, first), limit);
	errno = saved;
	return MAX(nr, 1);
}

/* ---- hybrid processors ---- */

static _Atomic uint64_t small[MASK_WORDS];

static void note_small(unsigned int first, unsigned int last)
{
	for (; first <= last && first < MASK_WORDS * 64; first++)
		or_relaxed(&small[first / 64], UINT64_C(1) << first % 64);
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
	int saved = errno;
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
	errno = saved;
}

bool cpu_is_small(int cpu)
{
	return cpu >= 0 && cpu < MASK_WORDS * 64 &&
	       load_relaxed(&small[cpu / 64]) >> cpu % 64 & 1;
}
