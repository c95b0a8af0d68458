/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * policy.h - the same test under each policy of the library
 *
 *	static void test(const char *policy) { ... 3 results ... }
 *
 *	int main(int argc, char **argv)
 *	{
 *		api_start(argv);
 *		return policy_main(argv, 3, test);
 *	}
 *
 * The library reads DROVER_POLICY when it is loaded, so the program executes
 * itself once for each policy, and hands its results on in the environment.
 */
#ifndef DROVER_SELFTESTS_POLICY_H
#define DROVER_SELFTESTS_POLICY_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"
#include "variant.h"

#define NR_POLICIES 4

static const char *const policies[NR_POLICIES] = {
	"auto",
	"requeue",
	"wake-all",
	"spin=0",
};

struct policy_list {
	const char *const *names;
	unsigned int nr;
};

/* policy_moves - does @policy move waiters where the mutex is in use? */
static inline bool policy_moves(const char *policy)
{
	return !variant_is("none") && strcmp(policy, "wake-all") != 0;
}

static inline _Noreturn void policy_exec(char **argv, const char *policy,
					 unsigned int stage)
{
	char state[64];

	snprintf(state, sizeof(state), "%u %u %u %u", stage, tap.passed,
		 tap.failed, tap.skipped);
	setenv("POLICY_STAGE", state, 1);
	setenv("DROVER_POLICY", policy, 1);
	fflush(stdout);
	execv("/proc/self/exe", argv);
	tap_bail("%s: %s", argv[0], strerror(errno));
}

/* policies_main - what main() returns; @nr_results for each of @list */
static inline int policies_main(char **argv, struct policy_list list,
				unsigned int nr_results,
				void (*test)(const char *policy))
{
	const char *state = getenv("POLICY_STAGE");
	unsigned int stage = 0;

	if (!state)
		policy_exec(argv, list.names[0], 0);
	if (sscanf(state, "%u %u %u %u", &stage, &tap.passed, &tap.failed,
		   &tap.skipped) != 4 ||
	    stage >= list.nr)
		tap_bail("POLICY_STAGE=%s is for this program alone", state);
	if (stage == 0)
		tap_plan(list.nr * nr_results);
	else
		setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	tap.planned = list.nr * nr_results;

	test(list.names[stage]);
	if (stage + 1 < list.nr)
		policy_exec(argv, list.names[stage + 1], stage + 1);
	return tap_exit();
}

/* policy_main - the same under all of them */
static inline int policy_main(char **argv, unsigned int nr_results,
			      void (*test)(const char *policy))
{
	struct policy_list list = { policies, NR_POLICIES };

	return policies_main(argv, list, nr_results, test);
}

#endif /* DROVER_SELFTESTS_POLICY_H */
