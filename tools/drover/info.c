// SPDX-License-Identifier: MIT
/* drover info: what works on this machine; each line tries what it names. */
#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drover.h"

#ifndef SYS_futex_requeue
#define SYS_futex_requeue 456 /* Linux 6.7 */
#endif

static void say(const char *subject, const char *finding)
{
	printf("%-20s%s\n", subject, finding);
}

/* Sourceware 25847; Documentation/lost-wakeup.rst has the versions. */
static void say_c_library(void)
{
	const char *version = gnu_get_libc_version();
	unsigned int major = 0, minor = 0;
	const char *signals = "it loses no signals";
	char line[128];

	sscanf(version, "%u.%u", &major, &minor);
	if (major == 2 && minor >= 25 && minor <= 37)
		signals = "a signal can get lost (sourceware 25847)";
	else if (major == 2 && minor >= 38 && minor <= 40)
		signals =
			"a signal can get lost (sourceware 25847), unless the distribution has the fix";
	snprintf(line, sizeof(line), "glibc %s: %s", version, signals);
	say("C library", line);
}

int info_drop_in(void)
{
	Dl_info where;

	if (!dladdr((void *)(uintptr_t)pthread_cond_broadcast, &where))
		return 1;
	return strstr(where.dli_fname, "libdrover-pthread") ? 0 : 1;
}

/* Does the loader put the drop-in's functions before the C library's? */
static int drop_in_works(const char *path)
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		if (!drop_in_preload(path))
			execl("/proc/self/exe", "drover", "info", "--drop-in",
			      NULL);
		_exit(127);
	}
	return child > 0 && waitpid(child, &status, 0) == child &&
	       WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int say_drop_in(void)
{
	char path[PATH_MAX];
	int missing = drop_in_path(path, sizeof(path));
	int works = !missing && drop_in_works(path);

	say("drop-in", path);
	say("", missing ? "is missing: build or install it" :
		works	? "takes the place of the C library's functions" :
			  "cannot be preloaded");
	return works;
}

/* Print whether an operation exists; the call was such that it moves nobody. */
static void say_call(const char *subject, long ret, int there)
{
	char line[128];

	if (ret < 0 && errno == there)
		say(subject, "yes");
	else if (ret < 0 && errno == ENOSYS)
		say(subject, "no: not in this kernel, so waiters are woken");
	else if (ret < 0 && errno == EPERM)
		say(subject, "no: refused by a sandbox, so waiters are woken");
	else {
		snprintf(line, sizeof(line), "unexpected answer: %s",
			 ret < 0 ? strerror(errno) : "success");
		say(subject, line);
	}
}

static void say_requeue(void)
{
	static uint32_t from, to;

	/* The word is 0 and not 1, so that the calls do nothing. */
	say_call("FUTEX_REQUEUE",
		 syscall(SYS_futex, &from, FUTEX_CMP_REQUEUE_PRIVATE, 1, 1, &to,
			 1),
		 EAGAIN);
	say_call("  to a PI lock",
		 syscall(SYS_futex, &from, FUTEX_CMP_REQUEUE_PI_PRIVATE, 1, 1,
			 &to, 1),
		 EAGAIN);
	say_call("  futex_requeue(2)",
		 syscall(SYS_futex_requeue, NULL, 0, 0, 0), EINVAL);
}

static void say_tracepoints(void)
{
	const char *events = "/sys/kernel/tracing/events";

	if (access(events, R_OK | X_OK))
		say("  tracepoints",
		    "unknown: run as root, with tracefs mounted");
	else if (access("/sys/kernel/tracing/events/futex", F_OK))
		say("  tracepoints", "no: Drover's kernel series adds them");
	else
		say("  tracepoints",
		    "yes: futex_wait, futex_wake, futex_requeue");
}

static void say_cpus(void)
{
	char line[64];
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		CPU_ZERO(&set);
	snprintf(line, sizeof(line), "%d of %ld may be used", CPU_COUNT(&set),
		 sysconf(_SC_NPROCESSORS_ONLN));
	say("CPUs", line);
}

int info(void)
{
	struct utsname kernel;
	char line[sizeof(kernel.release) + 16];
	int works;

	say_c_library();
	works = say_drop_in();
	uname(&kernel);
	snprintf(line, sizeof(line), "Linux %s", kernel.release);
	say("kernel", line);
	say_requeue();
	say_tracepoints();
	say_cpus();
	return works ? 0 : 1;
}
