// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scenarios of waits with a predicate. Each item is for one thread, and comes
 * with a signal. A signal that is lost leaves a thread asleep although there is
 * an item.
 */
#include <errno.h>

#include "waits.h"

/* [mutex] */
static int nr_items;
static int turn;

static bool has_item(void *unused)
{
	(void)unused;
	guarded++;
	return nr_items > 0;
}

static bool is_turn(void *me)
{
	guarded++;
	return turn == (int)(intptr_t)me;
}

/* Take an item. Return: was there one? */
static bool take(bool timed)
{
	struct timespec at = in_a_while();
	int err;

	lock_it();
	ledger_leave(&ledger);
	err = timed ? drover_cond_await_until(&cond, &mutex, has_item, NULL,
					      CLOCK_MONOTONIC, &at) :
		      drover_cond_await(&cond, &mutex, has_item, NULL);
	ledger_enter(&ledger);
	expect(err == (nr_items ? 0 : ETIMEDOUT));
	nr_items -= !err;
	unlock_it();
	return !err;
}

/* Put @nr items, with a signal for one and a broadcast for several. */
static void put(int nr, bool held)
{
	lock_it();
	nr_items += nr;
	if (!held)
		unlock_it();
	if (nr == 1)
		drover_cond_signal(&cond);
	else
		drover_cond_broadcast(&cond);
	if (held)
		unlock_it();
}

static void await_signals(int me)
{
	if (me < 2) {
		take(false);
	} else {
		put(1, me == 2);
		put(1, me != 2);
	}
}

static void await_broadcast(int me)
{
	if (me < 2)
		take(false);
	else
		put(2, false);
}

static void await_held_broadcast(int me)
{
	if (me < 3)
		take(false);
	else
		put(3, true);
}

/*
 * On one CPU the second or the third signal may be left to a thread that is on
 * its way. It is not lost.
 */
static void await_burst(int me)
{
	if (me < 3) {
		take(false);
		return;
	}
	put(1, false);
	put(1, true);
	put(1, false);
}

/* Thread 0 may give up, and then an item is left over. */
static void await_timed(int me)
{
	if (me == 0) {
		take(true);
	} else if (me == 1) {
		take(false);
	} else {
		put(1, true);
		put(1, false);
	}
}

/* The threads go on one after the other, each by a broadcast to all. */
static void await_turns(int me)
{
	lock_it();
	ledger_leave(&ledger);
	expect(!drover_cond_await(&cond, &mutex, is_turn,
				  (void *)(intptr_t)me));
	ledger_enter(&ledger);
	turn++;
	drover_cond_broadcast(&cond);
	unlock_it();
}

/* If no waiter's predicate is true, a signal wakes a waiter without one. */
static void await_beside_wait(int me)
{
	if (me == 0) {
		take(false);
	} else if (me == 1) {
		wait_once(false);
	} else {
		wake(1, true);
		put(2, true);
	}
}

/* The thread that takes the last item destroys the condvar and the mutex. */
static void await_and_destroy(int me)
{
	if (me < 2) {
		take(false);
		leave_and_destroy();
	} else {
		put(2, true);
	}
}

/*
 * The condvar may be destroyed with the mutex held, right after the broadcast:
 * no waiter comes back to it.
 */
static void await_destroy_at_once(int me)
{
	if (me < 2) {
		take(false);
		return;
	}
	lock_it();
	nr_items = 2;
	drover_cond_broadcast(&cond);
	destroy_cond();
	unlock_it();
}

/* A thief takes an item before the waiter runs, and puts it back later. */
static void await_beside_thief(int me)
{
	bool stolen;

	if (me < 3) {
		await_signals(me);
		return;
	}
	lock_it();
	stolen = nr_items > 0;
	nr_items -= stolen;
	unlock_it();
	if (stolen)
		put(1, false);
}

static void setup_await_destroy(void)
{
	setup_plain();
	nr_left = 2;
}

const struct scenario await_scenarios[] = {
	{ "await-signal", 3, 0, SPURIOUS | INTERRUPTS, POLICIES, setup_plain,
	  await_signals, NULL },
	{ "await-broadcast", 3, 0, ANY_ORDER, POLICIES, setup_plain,
	  await_broadcast, NULL },
	{ "await-broadcast-held", 4, 0, ANY_ORDER, POLICIES, setup_plain,
	  await_held_broadcast, NULL },
	{ "await-burst", 4, 0, ANY_ORDER, "auto,spin=0,1cpu auto,1cpu",
	  setup_plain, await_burst, NULL },
	{ "await-timed", 3, 0, EXPIRES, POLICIES, setup_plain, await_timed,
	  NULL },
	{ "await-turns", 3, 0, ANY_ORDER, POLICIES, setup_plain, await_turns,
	  NULL },
	{ "await-mixed", 3, 0, 0, POLICIES, setup_plain, await_beside_wait,
	  ledgers_closed },
	{ "await-thief", 4, 0, 0, POLICIES, setup_plain, await_beside_thief,
	  NULL },
	{ "await-destroy-at-once", 3, 0, 0, POLICIES, setup_plain,
	  await_destroy_at_once, NULL },
	{ "await-destroy", 3, 0, 0, POLICIES, setup_await_destroy,
	  await_and_destroy, NULL },
};
const int nr_await_scenarios =
	sizeof(await_scenarios) / sizeof(*await_scenarios);
