// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread's account limits what it spends on polls: see lib/base/poll.h.
 */
#include "polling.h"

#define NR_RESULTS 14
#define NR_SAVED   8 /* polls that a new account has saved up, as in poll.c */

static int nr_before;

static bool comes_with_yield(void *unused)
{
	return nr_yields > nr_before;
}

/* Return: how often of @times the thread polls. @sleeps: it also sleeps. */
static int count(struct poll_account *a, bool (*poll)(void *arg), int times,
		 bool sleeps)
{
	int nr = 0;

	for (int i = 0; i < times; i++) {
		nr += polls(a, poll);
		if (sleeps)
			sleep_once(a);
	}
	return nr;
}

/* Return: after how many sleeps the thread polls again; -1: never. */
static int polls_again(struct poll_account *a)
{
	for (int nr = 0; nr < 1000 * NR_TIMES; nr++) {
		if (polls(a, never_comes))
			return nr;
		sleep_once(a);
	}
	return -1;
}

static void test_in_vain(void)
{
	struct poll_account a = { 0 };
	int nr;

	poll_limit(100);
	nr = count(&a, never_comes, NR_TIMES, false);
	tap_ok(nr > 0 && nr <= NR_SAVED,
	       "a thread polls in vain %d of %d times", nr, NR_TIMES);
	/* A sleep costs at most 50 us, and pays for a fiftieth of that. */
	nr = count(&a, never_comes, 2 * NR_TIMES, true);
	tap_ok(nr <= 2 * NR_TIMES / 100 + 1,
	       "with a sleep after each time, %d of %d times", nr,
	       2 * NR_TIMES);
	nr = polls_again(&a);
	tap_ok(nr > 0, "after polls in vain, it polls again after %d sleeps",
	       nr);
	poll_limit(1);
	for (int i = 0; i < 100 * NR_TIMES; i++)
		sleep_once(&a);
	nr = count(&a, never_comes, NR_TIMES, false);
	tap_ok(nr > 0 && nr <= NR_SAVED, "after many sleeps, %d of %d times",
	       nr, NR_TIMES);
	/* The latency of a wake-up is measured repeatedly, and varies. */
	nr = 0;
	for (int i = 0; i < NR_TIMES; i++) {
		poll_limit(1);
		sleep_once(&a);
		poll_limit(100);
		nr += polls(&a, never_comes);
	}
	tap_ok(nr <= NR_SAVED + NR_TIMES / 100 + 1,
	       "while the limit varies, %d of %d times", nr, NR_TIMES);
	/*
	 * Such a poll costs ten times as much as it spares. If the thread was
	 * preempted, and the poll has ended without the event, the poll does
	 * not count.
	 */
	a = (struct poll_account){ 0 };
	poll_limit(2 * LATE_NS / 1000);
	nr = 0;
	for (int i = 0; i < NR_TIMES; i++) {
		struct poll_account before = a;
		bool polled = polls(&a, comes_late);

		if (polled && !comes_late(NULL))
			a = before;
		else
			nr += polled;
		a.lost = 0;
	}
	tap_ok(nr > 0 && nr <= NR_TIMES / 4,
	       "for an event that comes late, %d of %d times", nr, NR_TIMES);
}

/* Return: how often the thread yields in @times polls, each with a sleep. */
static int yields_in(struct poll_account *a, int times)
{
	nr_yields = 0;
	for (int i = 0; i < times; i++) {
		nr_before = nr_yields;
		poll_before_sleep(a, comes_with_yield, NULL, INT64_MAX);
		sleep_once(a);
	}
	return nr_yields;
}

/* At each yield a thread that computes has the CPU for a time slice. */
static void test_slices(void)
{
	struct poll_account a = { 0 };
	int nr;

	poll_limit(100);
	nr_before = nr_yields;
	yield_ns = SLICE_NS;
	tap_ok(poll_before_sleep(&a, comes_with_yield, NULL, INT64_MAX),
	       "an event during a yield is not missed");
	nr = yields_in(&a, NR_TIMES);
	tap_is(nr, 0, "the first long yield makes a new account empty");
	yield_ns = 0;
	nr = polls_again(&a);
	tap_ok(nr > 0, "after long yields, it polls again after %d sleeps", nr);
	/* 10 ms are paid in advance at most, which is three slices. */
	a = (struct poll_account){ 0 };
	for (int i = 0; i < 2000 * NR_TIMES; i++)
		sleep_once(&a);
	yield_ns = SLICE_NS;
	nr = yields_in(&a, NR_TIMES);
	tap_ok(nr > 1 && nr <= 6, "after many sleeps, %d long yields", nr);
	yield_ns = 0;
}

/*
 * At each yield many other threads run for a moment each, and fall asleep. So a
 * thread may yield as often as the event comes, however long a yield takes. If
 * the thread is preempted itself, that looks like a long turn: it tries again.
 */
static void test_sleepers(void)
{
	int nr = 0;

	poll_limit(100);
	yield_ns = SLICE_NS / 10;
	nr_asleep = 128 * poll_cpus();
	for (int i = 0; i < 50 && nr < 50; i++) {
		struct poll_account a = { .lost = -POLL_MOST_LOST };

		nr = yields_in(&a, 50);
	}
	tap_is(nr, 50, "yields to threads that sleep soon");
	yield_ns = nr_asleep = 0;
}

static void test_limits(void)
{
	struct poll_account a = { 0 };

	poll_limit(100000);
	nr_polls = 0;
	poll_before_sleep(&a, never_comes, NULL, 1000);
	tap_ok(nr_polls < 200, "a deadline ends a poll after %d looks",
	       nr_polls);
	poll_limit(0);
	nr_yields = 0;
	tap_is(polls(&a, never_comes), 0, "spin=0: the thread does not poll");
	tap_is(nr_yields, 0, "spin=0: the thread does not yield");
}

int main(void)
{
	tap_plan(NR_RESULTS);
	watchdog("polls");
	if (poll_has_cpu()) {
		test_in_vain();
		test_slices();
		test_sleepers();
		test_limits();
	} else {
		tap_skip_all(NR_RESULTS, "polls", "there is one CPU");
	}
	return tap_exit();
}
