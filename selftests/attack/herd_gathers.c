// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that are about to stay awake are woken for the last time, with one CPU by
 * the first of them: who has broadcast has to have its turn before they have given
 * way in vain. Whether they are is forced.
 */
#include <sched.h>

#include "args.h"
#include "caller.h"
#include "policy.h"

static void test_gathers(const char *what, bool held, int nr)
{
	const struct caller how = {
		.held = held,
		.with = &mutex,
		.is_to_sleep = true,
	};

	caller_begin(what, how);
	caller_end();
	tap_is(caller.nr_ahead, 0, "%s: the caller wakes one at most", what);
	tap_is(caller.nr_gathers, nr, "%s: %d wakes the others", what, nr);
}

static void test(const char *policy)
{
	bool stays = !strstr(policy, "no-stay") && policy_moves(policy);

	test_gathers("mutex held", true, stays);
	test_gathers("mutex free", false, stays);
}

/* Before the library asks for them. */
static void use_one_cpu(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		tap_bail("sched_setaffinity: %s", strerror(errno));
}

static const char *const names[] = {
	"auto,look=0,stay",
	"auto,look=0,no-stay",
};

int main(int argc, char **argv)
{
	struct policy_list list = { names, 2 };

	args_parse(argc, argv, "");
	use_one_cpu();
	return policies_main(argv, list, 4, test);
}
