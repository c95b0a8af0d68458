// SPDX-License-Identifier: GPL-2.0-only
/* What is learned of herds that stay awake, giving way once before they sleep. */
#include "policy_looks.h"

#define NR_MEMBERS 10

/* So many broadcasts come before the first try; later tries in vain: every so many. */
#define FIRST 8
#define EVERY 256

/* Of @nr broadcasts, after how many does the next group stay, if so many sleep? */
static int count_stays(struct cond *c, int nr, int slept)
{
	int nr_stays = 0;

	while (nr--) {
		struct group g = { .stays = policy_stays(c) };

		store_relaxed(&g.slept, load_relaxed(&g.stays) ? slept : 0);
		policy_stayed(c, &g, NR_MEMBERS);
		nr_stays += policy_stays(c);
	}
	return nr_stays;
}

static void test_learned(void)
{
	struct cond c = { 0 };

	tap_is(count_stays(&c, FIRST - 1, 0), 0, "few broadcasts: they sleep");
	tap_is(count_stays(&c, 1000, 0), 1000, "then all stay");
	tap_is(count_stays(&c, 1000, NR_MEMBERS / 2 - 1), 1000,
	       "as long as less than half of them sleep");
	tap_ok(count_stays(&c, 10000, NR_MEMBERS / 2) <= 9 + 10000 / EVERY,
	       "half of them do: all sleep, but for a few rounds");
	tap_ok(count_stays(&c, 1000, 0) >= 1000 - EVERY,
	       "less do again: that is found out");
}

static void test_forced(bool stays)
{
	struct cond c = { 0 };

	tap_is(count_stays(&c, FIRST - 1, 0), stays ? FIRST - 1 : 0,
	       "stays from the beginning: %d", stays);
	tap_is(count_stays(&c, 1000, 0), stays ? 1000 : 0,
	       "stays after many: %d", stays);
	tap_is(count_stays(&c, 1000, NR_MEMBERS), stays ? 1000 : 0,
	       "stays though all sleep: %d", stays);
	c.herds = FIRST;
	tap_is(policy_stays(&c), stays, "whatever was called");
	c.stays.skip = EVERY;
	tap_is(policy_stays(&c), stays, "whatever was learned");
}

static void test(const char *policy)
{
	if (strstr(policy, "stay"))
		test_forced(!strstr(policy, "no-stay"));
	else
		test_learned();
}

static const char *const names[] = { "auto", "auto,stay", "auto,no-stay" };

int main(int argc, char **argv)
{
	struct policy_list list = { names, 3 };

	(void)argc;
	return policies_main(argv, list, 5, test);
}
