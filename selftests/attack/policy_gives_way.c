// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is learned of giving way to other threads once before the sleep; and how
 * many there may be for a held mutex to be worth it.
 */
#include "policy_looks.h"

#include "cond/policy.h"

/* In vain: every so many, at last; and until then. */
#define GIVE_EVERY 512
#define GIVE_FIRST 10

/* So many have waited; the caller as well, for one more. */
#define NR_MANY 64

static void test_learns(void)
{
	struct lib_waiter *w = waiter_self();
	struct cond c[2] = { { 0 } };

	tap_is(count_given(w, &c[0], 1000, 0), 1000,
	       "signals come meanwhile: all waits give way");
	tap_ok(count_given(w, &c[0], 100000, INT64_MAX) <=
		       GIVE_FIRST + 100000 / GIVE_EVERY,
	       "they don't, or late: waits go to sleep, but for a few");
	tap_is(count_given(w, &c[1], 100, 0), 100,
	       "which teaches nothing about another condvar");
	tap_ok(count_given(w, &c[0], 1000, 0) >= 1000 - GIVE_EVERY,
	       "they come again: that is found out");
}

static void test_crowded(bool with_one_cpu)
{
	struct lib_waiter *w = waiter_self();
	struct cond c = { 0 };
	struct crowd crowd;

	tap_is(count_given(w, &c, 1, 0), with_one_cpu,
	       "a CPU for each thread: gives way only if that is one");
	crowd_gather(&crowd);
	policy_watch_anew(w);
	tap_is(count_given(w, &c, 100, 0), 100,
	       "more threads than CPUs: all waits give way");
	crowd_end(&crowd);
	policy_watch_anew(w);
}

static unsigned int looks(void)
{
	unsigned int nr = policy_looks();

	if (nr)
		policy_looked(true);
	return nr;
}

static void test_many(void)
{
	struct crowd crowd;

	waiter_self();
	crowd_of(&crowd, NR_MANY - 1);
	tap_is(looks(), LOOKS, "some threads: a held mutex is looked at");
	crowd_end(&crowd);
	crowd_of(&crowd, NR_MANY);
	tap_is(looks(), cpus_usable() == 1 ? 0 : LOOKS,
	       "many: not if all that can be done is to give way");
	crowd_end(&crowd);
}

static void test(const char *policy)
{
	bool once = strstr(policy, "once");

	test_many();

	if (once)
		test_learns();
	else
		for (int i = 0; i < 2; i++)
			test_crowded(cpus_usable() == 1);
}

static const char *const names[] = { "auto,once", "auto" };

int main(int argc, char **argv)
{
	struct policy_list list = { names, 2 };

	(void)argc;
	return policies_main(argv, list, 6, test);
}
