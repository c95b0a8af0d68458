// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is learned of how long a herd takes to come round, and that those who stay
 * awake may be away for as long. The time is the test's.
 */
#include <sched.h>

#include "policy_looks.h"

#define member group_member
#define waiter lib_waiter
#include "cond/member.h"
#undef member
#undef waiter

#include "base/clock.h"

/* So many broadcasts come before the first try. */
#define FIRST 8

/* Times in microseconds. */
#define ROUND	5000
#define LIMIT	7500 /* half as much again */
#define FOREVER UINT16_MAX

static int64_t now = NS_PER_S;

/* How long others have the CPU, and how often they got it. */
static int64_t absence;
static int nr_gave_way;

/* What the library calls. */
int clock_gettime(clockid_t clock, struct timespec *ts)
{
	(void)clock;
	ts->tv_sec = now / NS_PER_S;
	ts->tv_nsec = now % NS_PER_S;
	return 0;
}

int sched_yield(void)
{
	nr_gave_way++;
	now += absence;
	return 0;
}

/* A round of @us of those that sleep. Return: what is known then. */
static int round_of(struct cond *c, int64_t us)
{
	struct group g = { 0 };

	policy_begins(c, &g);
	now += us * NS_PER_US;
	policy_stayed(c, &g, 2);
	return c->round_us;
}

static void test_learned(void)
{
	struct cond c = { 0 };

	tap_is(round_of(&c, ROUND), 0, "the first broadcast is none");
	tap_is(round_of(&c, ROUND), ROUND, "a round is timed");
	tap_is(round_of(&c, 2 * ROUND), ROUND + ROUND / 8,
	       "a longer one counts less");
	tap_is(round_of(&c, ROUND), ROUND, "a shorter one counts");
	tap_is(round_of(&c, 2 * FOREVER), ROUND + (FOREVER - ROUND) / 8,
	       "one without end is as long as can be");
}

/* The limit of the next group, if so much is known. */
static int limit_of(uint16_t round_us)
{
	struct cond c = { .herds = FIRST, .round_us = round_us };
	struct group g = { 0 };

	policy_begins(&c, &g);
	return load_relaxed(&g.stays);
}

static void test_limit(void)
{
	int absence_us = (int)(policy_longest_absence() / NS_PER_US);

	tap_is(limit_of(0), absence_us, "nothing known: as long as any thread");
	tap_is(limit_of(100), absence_us, "short rounds: the same");
	tap_is(limit_of(ROUND), LIMIT, "long ones: a round and a half");
	tap_is(limit_of(FOREVER), FOREVER, "the longest: as long as can be");
}

/* How often does one give way that is away for @us each time? */
static int stay(struct group *g, int64_t us, const struct deadline *deadline)
{
	struct group_member m = { .g = g };

	nr_gave_way = 0;
	absence = us * NS_PER_US;
	store_relaxed(&g->slept, 0);
	member_stay(&m, deadline);
	return nr_gave_way;
}

static void test_away(void)
{
	struct group g = { .stays = LIMIT };
	struct deadline soon = { .clock = CLOCK_MONOTONIC };

	tap_is(stay(&g, LIMIT, NULL), policy_stays_for(),
	       "away for a round: gives way again");
	soon.at.tv_sec = now / NS_PER_S;
	soon.at.tv_nsec = now % NS_PER_S + LIMIT * NS_PER_US - 1;
	tap_is(stay(&g, 0, &soon), 0, "not if its deadline is sooner");
	tap_is(stay(&g, LIMIT + 1, NULL), 1, "away for longer: sleeps");
	tap_is(load_relaxed(&g.slept), 1, "and that is said");
}

static void test(const char *policy)
{
	(void)policy;
	waiter_self();
	test_learned();
	test_limit();
	test_away();
}

static const char *const names[] = { "auto" };

int main(int argc, char **argv)
{
	struct policy_list list = { names, 1 };

	(void)argc;
	return policies_main(argv, list, 13, test);
}
