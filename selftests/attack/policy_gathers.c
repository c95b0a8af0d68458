// SPDX-License-Identifier: GPL-2.0-only
/* Herds that are about to stay awake, and how they are woken for the last time. */
#include "policy_looks.h"

#define NR_MEMBERS 10

/* So many broadcasts come before the first try. */
#define FIRST 8

/* With one CPU those who are about to stay gather first. */
static enum herd_state before_stay(void)
{
	return cpus_usable() == 1 ? HERD_GATHERS : HERD_SLEEPS;
}

static void test_states(void)
{
	struct group slept = { 0 }, stayed = { .stays = true };
	struct cond c = { 0 };
	int nr_sleeps = 0;

	for (int i = 1; i < FIRST; i++)
		nr_sleeps += policy_stayed(&c, &slept, NR_MEMBERS) ==
			     HERD_SLEEPS;
	tap_is(nr_sleeps, FIRST - 1, "few broadcasts: they are asleep");
	tap_is(policy_stayed(&c, &slept, NR_MEMBERS), before_stay(),
	       "one more, with one CPU: they gather");
	tap_is(policy_stayed(&c, &stayed, NR_MEMBERS), HERD_AWAKE,
	       "then they are awake");
	store_relaxed(&stayed.slept, NR_MEMBERS);
	tap_is(policy_stayed(&c, &stayed, NR_MEMBERS), HERD_SLEEPS,
	       "and if not, asleep once more");
	tap_is(policy_stayed(&c, &slept, NR_MEMBERS), before_stay(),
	       "before they gather again");
}

static void test_gather(void)
{
	struct wake_plan plan = policy_gather(MUTEX_FREE, true);

	tap_ok(plan.move && plan.nr_wake == 1 && plan.ahead == AHEAD_ALL,
	       "who gather are woken by one of them");
	plan = policy_gather(MUTEX_HELD_BY_CALLER, true);
	tap_ok(plan.move && plan.nr_wake == 0 && plan.ahead == AHEAD_ALL,
	       "whom an unlock wakes, if the caller has the mutex");
	plan = policy_gather(MUTEX_FREE, false);
	tap_ok(!plan.move && plan.nr_wake == INT_MAX,
	       "but all are, if they cannot be moved");
}

static void test(const char *policy)
{
	(void)policy;
	test_states();
	test_gather();
}

static const char *const names[] = { "auto" };

int main(int argc, char **argv)
{
	struct policy_list list = { names, 1 };

	(void)argc;
	return policies_main(argv, list, 8, test);
}
