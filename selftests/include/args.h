/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * args.h - name=number arguments of a test program, and random numbers
 *
 *	struct args args = args_parse(argc, argv, "seed seconds");
 *	uint64_t seed = args_get(&args, "seed", args_fresh_seed());
 *	long seconds = args_get(&args, "seconds", 2);
 *
 *	tap_diag("seed=%" PRIu64, seed);
 *
 * An argument that is not in the list ends the program with a message and
 * status 2: a misspelt one must not silently run something else. kselftest
 * passes none.
 */
#ifndef DROVER_SELFTESTS_ARGS_H
#define DROVER_SELFTESTS_ARGS_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct args {
	int argc;
	char **argv;
};

static inline bool args_known(const char *names, const char *name, size_t len)
{
	const char *at = names;

	while ((at = strstr(at, name))) {
		bool starts = at == names || at[-1] == ' ';

		if (starts && (at[len] == ' ' || at[len] == '\0'))
			return true;
		at++;
	}
	return false;
}

static inline bool args_valid(const char *names, const char *arg)
{
	const char *equals = strchr(arg, '=');
	char name[32], *end;
	size_t len;

	if (!equals || equals == arg || !equals[1])
		return false;
	len = equals - arg;
	if (len >= sizeof(name))
		return false;
	memcpy(name, arg, len);
	name[len] = '\0';
	strtoull(equals + 1, &end, 0);
	return *end == '\0' && args_known(names, name, len);
}

/* args_parse - check all arguments against @names, separated by spaces */
static inline struct args args_parse(int argc, char **argv, const char *names)
{
	for (int i = 1; i < argc; i++) {
		if (args_valid(names, argv[i]))
			continue;
		fprintf(stderr, "%s: bad argument '%s'\n", argv[0], argv[i]);
		fprintf(stderr, "usage: name=number, names: %s\n",
			*names ? names : "(none)");
		exit(2);
	}
	return (struct args){ .argc = argc, .argv = argv };
}

/* args_get - the number given for @name, or @missing; the last one counts */
static inline uint64_t args_get(const struct args *args, const char *name,
				uint64_t missing)
{
	size_t len = strlen(name);

	for (int i = args->argc - 1; i > 0; i--) {
		const char *arg = args->argv[i];

		if (strncmp(arg, name, len) == 0 && arg[len] == '=')
			return strtoull(arg + len + 1, NULL, 0);
	}
	return missing;
}

/* args_fresh_seed - a seed for a run that was given none; print it */
static inline uint64_t args_fresh_seed(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec << 20 ^ (uint64_t)now.tv_nsec;
}

/*
 * random_next - splitmix64: any seed will do, each thread has a state of its
 * own, and the same seed gives the same numbers everywhere.
 */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* random_below - a number from 0 to @bound - 1 */
static inline uint32_t random_below(uint64_t *state, uint32_t bound)
{
	return (random_next(state) >> 32) * bound >> 32;
}

#endif /* DROVER_SELFTESTS_ARGS_H */
