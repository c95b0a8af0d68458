// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "bench.h"

const char *bench_file_of(void (*function)(void))
{
	Dl_info info;

	if (!dladdr((void *)function, &info) || !info.dli_fname)
		return "linked statically";
	return info.dli_fname;
}

const char *bench_libc_version(void)
{
#ifdef __GLIBC__
	static char text[64];

	snprintf(text, sizeof(text), "glibc %s", gnu_get_libc_version());
	return text;
#elif defined(BENCH_LIBC)
	return BENCH_LIBC; /* musl has no function for its version */
#else
	return "not glibc";
#endif
}

const char *bench_compiler_version(void)
{
	return "gcc " __VERSION__;
}

const char *bench_kernel(void)
{
	static char text[sizeof(struct utsname)];
	struct utsname uts;

	uname(&uts);
	snprintf(text, sizeof(text), "%s %s", uts.sysname, uts.release);
	return text;
}

unsigned int bench_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return sysconf(_SC_NPROCESSORS_ONLN);
	return CPU_COUNT(&set);
}
