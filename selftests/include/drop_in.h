/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * drop_in.h - run this pthread program on libdrover-pthread
 *
 *	int main(int argc, char **argv)
 *	{
 *		drop_in_load(argv);
 *
 * Unless the library is loaded already, the program executes itself again
 * with it in LD_PRELOAD. It is looked for where the build folder and a guest
 * have it: ../../lib from the program. With STOCK=1 in the environment
 * nothing is loaded, for comparison with the C library's own condvars.
 */
#ifndef DROVER_SELFTESTS_DROP_IN_H
#define DROVER_SELFTESTS_DROP_IN_H

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

#define DROP_IN_LIBRARY "libdrover-pthread.so.1"

static inline bool drop_in_wanted(void)
{
	return !getenv("STOCK");
}

/* drop_in_owns - is @function, found by dlsym or dlvsym, the library's? */
static inline bool drop_in_owns(void *function)
{
	Dl_info info;

	return function && dladdr(function, &info) && info.dli_fname &&
	       strstr(info.dli_fname, "libdrover-pthread");
}

static inline bool drop_in_loaded(void)
{
	return drop_in_owns(dlsym(RTLD_DEFAULT, "pthread_cond_wait"));
}

static inline void drop_in_path(char path[PATH_MAX])
{
	char program[PATH_MAX], near[PATH_MAX + 64];
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (len < 0)
		tap_bail("/proc/self/exe: %s", strerror(errno));
	program[len] = '\0';
	*strrchr(program, '/') = '\0';
	snprintf(near, sizeof(near), "%s/../../lib/" DROP_IN_LIBRARY, program);
	if (!realpath(near, path))
		tap_bail("%s: %s; build it with: make -C lib", near,
			 strerror(errno));
}

/* What is preloaded already, such as a sanitizer, has to stay first. */
static inline void drop_in_preload(const char *path)
{
	const char *before = getenv("LD_PRELOAD");
	char list[2 * PATH_MAX];

	snprintf(list, sizeof(list), "%s%s%s", before ? before : "",
		 before && *before ? ":" : "", path);
	setenv("LD_PRELOAD", list, 1);
}

static inline void drop_in_load(char **argv)
{
	char path[PATH_MAX];

	if (!drop_in_wanted() || drop_in_loaded())
		return;
	if (getenv("DROP_IN_LOADING"))
		tap_bail("LD_PRELOAD=%s had no effect", getenv("LD_PRELOAD"));
	drop_in_path(path);
	drop_in_preload(path);
	setenv("DROP_IN_LOADING", "1", 1);
	execv("/proc/self/exe", argv);
	tap_bail("%s: %s", argv[0], strerror(errno));
}

#endif /* DROVER_SELFTESTS_DROP_IN_H */
