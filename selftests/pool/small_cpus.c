// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which CPUs are the small ones of a hybrid processor, as sysfs says it, and that
 * workers there have a budget of their own: with one of nothing, they never look
 * out for work. sysfs is the test's, since most machines have one size of CPU.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blocked.h"
#include "blocks.h"
#include "tap.h"

/* A CPU that no machine has whose tests run here. */
#define LAST_CPU 1023

static const struct sizes {
	const char *what;
	const char *atom;     /* /sys/devices/cpu_atom/cpus, or NULL */
	int capacity;	      /* of all CPUs but the last, or 0: none is told */
	int capacity_of_last; /* of LAST_CPU */
	bool small;	      /* are those that the test runs on? */
} all_sizes[] = {
	{ .what = "nothing is told", .small = false },
	{ .what = "cpu_atom has all", .atom = "0-8191\n", .small = true },
	{ .what = "cpu_atom has all, in parts",
	  .atom = "8000,0-4000,4001-8191\n",
	  .small = true },
	{ .what = "cpu_atom has others", .atom = "8000-8100\n" },
	{ .what = "half the capacity of another CPU",
	  .capacity = 512,
	  .capacity_of_last = 1024,
	  .small = true },
	{ .what = "nearly the same capacity",
	  .capacity = 1000,
	  .capacity_of_last = 1024 },
	{ .what = "a larger capacity than another CPU's",
	  .capacity = 1024,
	  .capacity_of_last = 512 },
};

#define NR_SIZES ((int)(sizeof(all_sizes) / sizeof(all_sizes[0])))

static const struct sizes *sizes;

static int file_of(const char *text)
{
	int fd = memfd_create("sysfs", MFD_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		tap_bail("memfd");
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static int open_capacity(int cpu)
{
	char text[16];

	if (!sizes->capacity || cpu > LAST_CPU) {
		errno = ENOENT;
		return -1;
	}
	snprintf(text, sizeof(text), "%d\n",
		 cpu == LAST_CPU ? sizes->capacity_of_last : sizes->capacity);
	return file_of(text);
}

/* What the library calls: the program's comes before the C library's. */
int open(const char *path, int flags, ...)
{
	static int (*real)(const char *, int, ...);
	va_list more;
	int mode, cpu;

	va_start(more, flags);
	mode = flags & O_CREAT ? va_arg(more, int) : 0;
	va_end(more);
	if (sizes &&
	    sscanf(path, "/sys/devices/system/cpu/cpu%d/cpu_c", &cpu) == 1)
		return open_capacity(cpu);
	if (sizes && !strcmp(path, "/sys/devices/cpu_atom/cpus")) {
		if (sizes->atom)
			return file_of(sizes->atom);
		errno = ENOENT;
		return -1;
	}
	if (!real)
		real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT,
							      "open");
	return real(path, flags, mode);
}

/* Does a worker look out for work before it sleeps? */
static bool lingers(uint32_t linger_us, uint32_t linger_small_us)
{
	drover_poolattr_t attr = { .workers = 1,
				   .linger_us = linger_us,
				   .linger_small_us = linger_small_us };
	int64_t deadline = blocked_deadline();
	drover_poolstats_t stats;
	drover_pool_t *pool;

	if (drover_pool_create(&pool, &attr))
		tap_bail("no pool");
	do {
		if (blocked_over(deadline))
			tap_bail("the worker does not sleep");
		sched_yield();
		drover_pool_stats(pool, &stats);
	} while (!stats.sleeps);
	pool_end(pool, DROVER_POOL_DRAIN);
	return stats.linger_ns != 0;
}

/* In a child: the library finds out once. Bits: lingers with either budget. */
static int budgets_of(const struct sizes *of)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		watchdog("in the child");
		sizes = of;
		_exit(lingers(100, DROVER_POOL_NO_LINGER) | lingers(1, 100)
								    << 1);
	}
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

int main(void)
{
	cpu_set_t all;

	watchdog("small CPUs");
	tap_plan(NR_SIZES + 1);
	for (int i = 0; i < NR_SIZES; i++) {
		const struct sizes *of = &all_sizes[i];

		if (sched_getaffinity(0, sizeof(all), &all) ||
		    CPU_COUNT(&all) < 2)
			tap_skip(of->what, "nobody looks out with one CPU");
		else
			tap_is(budgets_of(of), of->small ? 2 : 3,
			       "%s: %s budget", of->what,
			       of->small ? "the small CPUs'" : "the usual");
	}
	tap_ok(!lingers(DROVER_POOL_NO_LINGER, 100),
	       "no budget at all: nobody looks out");
	return tap_exit();
}
