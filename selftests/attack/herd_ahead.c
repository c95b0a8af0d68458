// SPDX-License-Identifier: GPL-2.0-only
/*
 * Of threads that were moved to the mutex some shall be awake at once. Who has
 * broadcast wakes them, if it waits with that mutex before they are up; else that
 * is left to them. How many it is, is forced.
 */
#include "args.h"
#include "caller.h"
#include "policy.h"

/* One of those is woken by the unlock. */
#define NR_AWAKE 4
#define ENDING	 "awake=4,look=0,await=0"

static void test_ahead(const char *what, bool held, api_mutex_t *with, int nr)
{
	const struct caller how = {
		.held = held,
		.with = with,
		.is_to_sleep = true,
	};

	caller_begin(what, how);
	caller_end();
	tap_is(caller.nr_ahead, nr, "%s: the caller wakes %d more", what, nr);
}

static void test(const char *policy)
{
	bool some = strstr(policy, "short") && policy_moves(policy);

	test_ahead("moved to the mutex of its wait", true, &mutex,
		   some ? NR_AWAKE - 1 : 0);
	test_ahead("moved to another mutex", true, &other, 0);
	test_ahead("not moved", false, &mutex, 0);
}

static const char *const names[] = {
	"auto,short," ENDING,
	"auto,long," ENDING,
};

int main(int argc, char **argv)
{
	struct policy_list list = { names, sizeof(names) / sizeof(*names) };

	args_parse(argc, argv, "");
	return policies_main(argv, list, 3, test);
}
