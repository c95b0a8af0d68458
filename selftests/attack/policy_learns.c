// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a condvar learns from the threads that its signals woke. It looks inside
 * the library, to which it is linked.
 */
#define member group_member
#include "cond/cond.h"
#include "base/cpus.h"
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
static int count_wakes(struct cond *c, int nr, bool found_held)
{
	int nr_wakes = 0;

	while (nr--) {
		if (!policy_hopeful(c, 1))
			continue;
		nr_wakes++;
		policy_learn(c, LESSON_SINGLE, found_held);
	}
	return nr_wakes;
}

static void learn(struct cond *c, int nr, bool found_held)
{
	while (nr--)
		policy_learn(c, LESSON_SINGLE, found_held);
}

static void test_starts_by_waking(void)
{
	struct cond c = { 0 };

	tap_ok(policy_hopeful(&c, 1), "a new condvar wakes");
}

static void test_learns_to_move(void)
{
	struct cond c = { 0 };

	learn(&c, 1000, false);
	tap_ok(count_wakes(&c, 1000, true) <=
		       3 + LOOKS_EARLY + 1000 / LOOK_EVERY,
	       "whoever is woken finds the mutex held: it moves instead");
}

static void test_learns_to_wake(void)
{
	struct cond c = { 0 };

	learn(&c, 1000, true);
	tap_ok(count_wakes(&c, 1000, false) >= 1000 - 4 * LOOK_EVERY,
	       "whoever is woken finds the mutex free: it wakes again");
}

static void test_forgets_chance(void)
{
	struct cond c = { 0 };

	learn(&c, 1, true);
	tap_ok(!policy_hopeful(&c, 1), "one that found it held: it moves");
	tap_ok(count_wakes(&c, 1000, false) >= 1000 - 4 * LOOK_EARLY,
	       "the others find it free: it soon wakes again");
}

/* How many of 100 batches would move, if @nr_held threads found it held in each. */
static int count_moved_batches(bool large, int nr_held)
{
	struct cond c = { 0 };
	int nr_moves = 0;

	learn(&c, 1000, true);
	for (int i = 0; i < 100; i++) {
		policy_learn_batch(&c, large);
		nr_moves += !policy_hopeful(&c, 1);
		learn(&c, nr_held, true);
	}
	return nr_moves;
}

static void test_batches(void)
{
	tap_is(count_moved_batches(false, 1), 0,
	       "who signals in batches wakes, held or not");
	tap_is(count_moved_batches(true, 2), 0,
	       "in large ones even if two find it held");
}

/* Who finds the mutex held has paid more than the others save. */
static void test_mixed(void)
{
	struct cond c = { 0 };
	int nr_moves = 0;

	for (int i = 0; i < 1000; i++) {
		if (policy_hopeful(&c, 1))
			policy_learn(&c, LESSON_SINGLE, i % 4 == 0);
		else
			nr_moves++;
	}
	tap_ok(nr_moves > 500, "one in four finds it held: it mostly moves");
	learn(&c, 1000, false);
	nr_moves = 0;
	for (int i = 0; i < 1000; i++) {
		if (policy_hopeful(&c, 1))
			policy_learn(&c, LESSON_SINGLE, i % 16 == 0);
		else
			nr_moves++;
	}
	tap_ok(nr_moves == 0, "one in sixteen finds it held: it always wakes");
}

static void test_single(void)
{
	struct wake_plan plan =
		policy_plan(MUTEX_HELD_BY_CALLER, true, 1, true);

	tap_ok(!plan.move && plan.lesson == LESSON_SINGLE,
	       "one thread is woken early, and tells what came of it");
	plan = policy_plan(MUTEX_HELD_BY_CALLER, true, 1, false);
	tap_ok(plan.move && plan.nr_wake == 0, "or moved, and nobody woken");
}

/* Of threads that take turns some are awake at once, if there are CPUs. */
static void test_herd(void)
{
	bool cpus = cpus_usable() > 1;
	struct wake_plan plan =
		policy_plan(MUTEX_HELD_BY_CALLER, true, 2, true);

	tap_ok(plan.move && plan.nr_wake == 0, "two are moved in any case");
	tap_is(plan.ahead > 0, cpus, "with CPUs for more the first wakes some");
	plan = policy_plan(MUTEX_HELD_BY_OTHER, true, 2, true);
	tap_ok(plan.move && plan.nr_wake == 1 && (plan.ahead > 0) == cpus,
	       "so it does when another has the mutex, but for one alone");
	plan = policy_plan(MUTEX_HELD_BY_CALLER, true, 2, false);
	tap_is(plan.ahead, 0, "but not where each works for long");
	plan = policy_plan(MUTEX_FREE, true, 2, false);
	tap_ok(!plan.move && plan.lesson == LESSON_NONE,
	       "if the mutex is free all are woken, and need not look at it");
	plan = policy_plan(MUTEX_FREE, true, 2, true);
	tap_is(!plan.move && plan.lesson == LESSON_HERD, cpus,
	       "unless that is likely to be worth it");
	plan = policy_plan(MUTEX_FREE, false, 2, false);
	tap_ok(!plan.move, "and who cannot be moved is woken");
}

/* Broadcasts that wake more than one, out of @nr, if each of @herd says so. */
static int count_herds(struct cond *c, int nr, int herd, bool found_held)
{
	int nr_herds = 0;

	while (nr--) {
		if (!policy_hopeful(c, herd))
			continue;
		nr_herds++;
		for (int i = 0; i < herd; i++)
			policy_learn(c, LESSON_HERD, found_held);
	}
	return nr_herds;
}

static void test_herd_learns(void)
{
	struct cond c = { 0 };

	tap_is(count_herds(&c, 100, 8, false), 100,
	       "a herd that gets the mutex soon stays one");
	tap_ok(count_herds(&c, 1000, 8, true) <=
		       3 + LOOKS_EARLY + 1000 / LOOK_EVERY,
	       "one that waits for it is moved instead");
	tap_ok(policy_hopeful(&c, 1), "which teaches nothing about signals");
	tap_ok(count_herds(&c, 1000, 8, false) >= 1000 - 4 * LOOK_EVERY,
	       "and woken again when the waits are over");
}

int main(void)
{
	tap_plan(22);
	test_starts_by_waking();
	test_learns_to_move();
	test_learns_to_wake();
	test_forgets_chance();
	test_batches();
	test_mixed();
	test_single();
	test_herd();
	test_herd_learns();
	return tap_exit();
}
