// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a condvar learns from the threads that its signals woke. It looks inside
 * the library, to which it is linked.
 */
#define member group_member
#include "cond_internal.h"
#undef member

#include "fake_futex.h"
#include "tap.h"

/*
 * Signals that move before one wakes to look, at the end and at the beginning;
 * four looks change its mind.
 */
#define LOOK_EVERY  32
#define LOOK_EARLY  4
#define LOOKS_EARLY 3 /* until it is the former */

/* Of the next @nr signals, how many wake, if each that does has that result? */
static int count_wakes(struct evidence *e, int nr, bool found_held)
{
	int nr_wakes = 0;

	while (nr--) {
		if (!policy_wake_early(e))
			continue;
		nr_wakes++;
		policy_learn(e, found_held);
	}
	return nr_wakes;
}

static void learn(struct evidence *e, int nr, bool found_held)
{
	while (nr--)
		policy_learn(e, found_held);
}

static void test_starts_by_waking(void)
{
	struct evidence e = { 0 };

	tap_ok(policy_wake_early(&e), "a new condvar wakes");
}

static void test_learns_to_move(void)
{
	struct evidence e = { 0 };

	learn(&e, 1000, false);
	tap_ok(count_wakes(&e, 1000, true) <=
		       3 + LOOKS_EARLY + 1000 / LOOK_EVERY,
	       "whoever is woken finds the mutex held: it moves instead");
}

static void test_learns_to_wake(void)
{
	struct evidence e = { 0 };

	learn(&e, 1000, true);
	tap_ok(count_wakes(&e, 1000, false) >= 1000 - 4 * LOOK_EVERY,
	       "whoever is woken finds the mutex free: it wakes again");
}

static void test_forgets_chance(void)
{
	struct evidence e = { 0 };

	learn(&e, 1, true);
	tap_ok(!policy_wake_early(&e), "one that found it held: it moves");
	tap_ok(count_wakes(&e, 1000, false) >= 1000 - 4 * LOOK_EARLY,
	       "the others find it free: it soon wakes again");
}

static void test_batches(void)
{
	struct evidence e = { 0 };
	int nr_moves = 0;

	learn(&e, 1000, true);
	for (int i = 0; i < 100; i++) {
		policy_learn_batch(&e);
		if (policy_wake_early(&e))
			policy_learn(&e, true);
		else
			nr_moves++;
	}
	tap_ok(nr_moves == 0, "who signals in batches wakes, held or not");
}

/* Who finds the mutex held has paid more than the others save. */
static void test_mixed(void)
{
	struct evidence e = { 0 };
	int nr_moves = 0;

	for (int i = 0; i < 1000; i++) {
		if (policy_wake_early(&e))
			policy_learn(&e, i % 4 == 0);
		else
			nr_moves++;
	}
	tap_ok(nr_moves > 500, "one in four finds it held: it mostly moves");
	learn(&e, 1000, false);
	nr_moves = 0;
	for (int i = 0; i < 1000; i++) {
		if (policy_wake_early(&e))
			policy_learn(&e, i % 16 == 0);
		else
			nr_moves++;
	}
	tap_ok(nr_moves == 0, "one in sixteen finds it held: it always wakes");
}

static void test_forced(void)
{
	struct wake_plan plan =
		policy_plan(MUTEX_HELD_BY_CALLER, true, 1, true);

	tap_ok(!plan.move, "one thread is woken early");
	plan = policy_plan(MUTEX_HELD_BY_CALLER, true, 1, false);
	tap_ok(plan.move && plan.nr_wake == 0, "or moved, and nobody woken");
	plan = policy_plan(MUTEX_HELD_BY_CALLER, true, 2, true);
	tap_ok(plan.move && plan.nr_wake == 0, "two are moved in any case");
}

int main(void)
{
	tap_plan(11);
	test_starts_by_waking();
	test_learns_to_move();
	test_learns_to_wake();
	test_forgets_chance();
	test_batches();
	test_mixed();
	test_forced();
	return tap_exit();
}
