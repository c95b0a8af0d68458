// SPDX-License-Identifier: GPL-2.0-only
/*
 * The library finds out from sysfs which CPUs are the small ones of a hybrid
 * processor. Workers on these CPUs have their own budget for looking out for
 * work; with a budget of nothing they never look out. The test has a sysfs of
 * its own, because most machines have one size of CPU.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "tasks.h"

/* A CPU that no machine has on which the tests run. */
#define LAST_CPU 1023

static const struct sizes {
	const char *what;
	bool small;	      /* is the CPU small on which the test runs? */
	const char *atom;     /* /sys/devices/cpu_atom/cpus, or NULL */
	int capacity;	      /* of all CPUs except LAST_CPU; 0: not known */
	int capacity_of_last; /* of LAST_CPU */
} all_sizes[] = {
	{ "sysfs says nothing", false, NULL, 0, 0 },
	{ "cpu_atom has all", true, "0-8191\n", 0, 0 },
	{ "cpu_atom has all, in parts", true, "8000,0-4000,4001-8191\n", 0, 0 },
	{ "cpu_atom has other CPUs", false, "8000-8100\n", 0, 0 },
	{ "half the capacity of another CPU", true, NULL, 512, 1024 },
	{ "nearly the same capacity", false, NULL, 1000, 1024 },
	{ "a larger capacity than another CPU's", false, NULL, 1024, 512 },
};

static const struct sizes *sizes;

/* Return: a file with this text, or -1. */
static int file_of(const char *text)
{
	int fd = text ? memfd_create("sysfs", MFD_CLOEXEC) : -1;

	if (!text)
		errno = ENOENT;
	else if (fd < 0 || write(fd, text, strlen(text)) < 0)
		tap_bail("memfd");
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* Open the test's file for a path of sysfs. Return: -2 for any other path. */
static int open_ours(const char *path)
{
	char text[16];
	int cpu;

	if (sscanf(path, "/sys/devices/system/cpu/cpu%d/cpu_c", &cpu) == 1) {
		snprintf(text, sizeof(text), "%d\n",
			 cpu == LAST_CPU ? sizes->capacity_of_last :
					   sizes->capacity);
		return file_of(sizes->capacity && cpu <= LAST_CPU ? text :
								    NULL);
	}
	if (!strcmp(path, "/sys/devices/cpu_atom/cpus"))
		return file_of(sizes->atom);
	return -2;
}

/*
 * The library calls this function, because the program's symbols come before
 * the C library's.
 */
long syscall(long nr, ...)
{
	static long (*next)(long nr, ...);
	long args[6];
	va_list ap;
	int fd;

	va_start(ap, nr);
	for (int i = 0; i < NR_OF(args); i++)
		args[i] = va_arg(ap, long);
	va_end(ap);
	if (nr == SYS_openat && sizes) {
		fd = open_ours((const char *)args[1]);
		if (fd != -2)
			return fd;
	}
	if (!next)
		next = dlsym(RTLD_NEXT, "syscall");
	return next(nr, args[0], args[1], args[2], args[3], args[4], args[5]);
}

/* Does a worker look out for work before it sleeps? */
static bool lingers(uint32_t linger_us, uint32_t linger_small_us)
{
	bool lingered;

	begin_with((drover_poolattr_t){ .workers = 1,
					.linger_us = linger_us,
					.linger_small_us = linger_small_us });
	wait_until(stats_of(pool).sleeps, "the worker does not sleep");
	lingered = stats_of(pool).linger_ns;
	end();
	return lingered;
}

/*
 * Runs in a child, because the library reads sysfs only once. Bit 0: a worker
 * lingers with the usual budget; bit 1: with that of small CPUs.
 */
static bool budgets(void)
{
	_exit(lingers(100, DROVER_POOL_NO_LINGER) | lingers(1, 100) << 1);
}

/* Does a worker look out for work when its budget has changed to @later? */
static bool lingers_later(uint32_t at_first, uint32_t later)
{
	uint64_t before, sleeps;

	begin_with((drover_poolattr_t){ .workers = 1,
					.linger_us = at_first,
					.linger_small_us = at_first });
	await_sleep(1);
	MUST(drover_pool_set_linger(pool, later, later));
	before = stats_of(pool).linger_ns;
	sleeps = stats_of(pool).sleeps;
	drover_pool_post(pool, count, NULL);
	wait_until(stats_of(pool).sleeps > sleeps, "the worker does not sleep");
	before = stats_of(pool).linger_ns - before;
	end();
	return before;
}

int main(void)
{
	cpu_set_t all = own_cpus();

	watchdog("small CPUs");
	tap_plan(NR_OF(all_sizes) + 1 + 1);
	for (int i = 0; i < NR_OF(all_sizes); i++) {
		const struct sizes *of = &all_sizes[i];

		sizes = of;
		if (CPU_COUNT(&all) < 2)
			tap_skip(of->what, "workers never linger with one CPU");
		else
			tap_is(child_status(budgets, "in the child"),
			       of->small ? 2 : 3, "%s: %s budget", of->what,
			       of->small ? "the small CPUs'" : "the usual");
	}
	sizes = NULL;
	tap_ok(!lingers(DROVER_POOL_NO_LINGER, 100),
	       "without a budget no worker looks out for work");
	if (CPU_COUNT(&all) < 2)
		tap_skip("a budget that is given, and taken, later",
			 "workers never linger with one CPU");
	else
		tap_ok(lingers_later(DROVER_POOL_NO_LINGER, 100) &&
			       !lingers_later(100, DROVER_POOL_NO_LINGER),
		       "a budget that is given, and taken, later");
	return tap_exit();
}
