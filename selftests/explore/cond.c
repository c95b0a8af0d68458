// SPDX-License-Identifier: GPL-2.0-only
/* Scenarios of the condition variable. */
#include <errno.h>

#include "base/waiter.h"
#include "cond/cond.h"
#include "waits.h"

/* ---- what the threads do ---- */

void do_two_signals(int me)
{
	if (me < 2) {
		wait_once(false);
	} else {
		wake(1, false);
		wake(1, false);
	}
}

void do_two_held_signals(int me)
{
	if (me < 2) {
		wait_once(false);
	} else {
		wake(1, true);
		wake(1, true);
	}
}

void do_two_signallers(int me)
{
	if (me < 2)
		wait_once(false);
	else
		wake(1, me == 2);
}

void do_broadcast(int me)
{
	if (me < 2)
		wait_once(false);
	else
		wake(2, false);
}

static void held_broadcast(int me)
{
	if (me < 2)
		wait_once(false);
	else
		wake(2, true);
}

/* A group that is closed, and one that is open. */
void do_two_groups(int me)
{
	if (me < 3) {
		wait_once(false);
	} else {
		wake(1, false);
		wake(2, false);
	}
}

static void held_two_groups(int me)
{
	if (me < 3) {
		wait_once(false);
	} else {
		wake(1, true);
		wake(2, true);
	}
}

/* Threads that were moved to the mutex, and one more that only locks it. */
void do_chain(int me)
{
	if (me < 3) {
		wait_once(false);
	} else if (me == 3) {
		wake(3, true);
	} else {
		lock_it();
		unlock_it();
	}
}

void do_timeout(int me)
{
	if (me < 2) {
		wait_once(me == 0);
	} else {
		wake(1, true);
		wake(1, true);
	}
}

static void timeout_broadcast(int me)
{
	if (me < 2)
		wait_once(true);
	else
		wake(2, true);
}

void do_again(int me)
{
	for (int i = 0; i < 2; i++)
		if (me < 2)
			wait_once(me == 0);
		else
			wake(2, true);
}

/* Wait once; any kind of return is right. */
static void wait_for_anything(void)
{
	struct timespec at = in_a_while();
	int err;

	guarded++;
	ledger_leave(&ledger);
	err = drover_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &at);
	expect(!err || err == ETIMEDOUT);
	ledger_enter(&ledger);
	guarded++;
}

void do_again_by_signals(int me)
{
	for (int i = 0; i < 4; i++)
		if (me == 2)
			wake(1, true);
		else if (i < 2)
			wait_once(false);
}

/* The only thread that uses the mutex destroys it after its wait. */
static void timeout_and_destroy(int me)
{
	if (me == 1) {
		drover_cond_signal(&cond);
		return;
	}
	lock_it();
	wait_for_anything();
	unlock_it();
	expect(!drover_mutex_destroy(&mutex));
	give_back(&mutex, sizeof(mutex));
}

static void timeout_of_three(int me)
{
	if (me < 3)
		wait_once(me == 0);
	else
		for (int i = 0; i < 3; i++)
			wake(1, true);
}

/* A group of one condvar is used again for the other during a signal. */
static void recycle(int me)
{
	if (me == 0) {
		lock_it();
		wait_for_anything();
		wait_on(&other, &other_ledger, false);
		unlock_it();
	} else if (me == 1) {
		drover_cond_signal(&cond);
	} else {
		wake_on(&other, &other_ledger, 1, false);
	}
}

void do_destroy(int me)
{
	if (me < 2) {
		wait_once(false);
		leave_and_destroy();
	} else {
		wake(2, false);
	}
}

/*
 * After a broadcast no thread waits or will wait, so the condvar may go at
 * once.
 */
void do_destroy_at_once(int me)
{
	if (me < 2) {
		wait_once(false);
	} else {
		wake(2, true);
		destroy_cond();
	}
}

static void destroy_after_signals(int me)
{
	if (me < 2) {
		wait_once(false);
		leave_and_destroy();
	} else {
		wake(1, false);
		lock_it();
		ledger_signal(&ledger, 1);
		drover_cond_signal(&cond);
		ledger_signalled(&ledger, ledger.nr_calls);
		unlock_it();
	}
}

static void setup_destroy(void)
{
	setup_plain();
	nr_left = 2;
}

/* The least: one thread that waits, and one that wakes it. */
static void pair(int me)
{
	if (me == 0)
		wait_once(false);
	else
		wake(1, false);
}

static void pair_destroy(int me)
{
	if (me == 0) {
		wait_once(false);
		leave_and_destroy();
	} else {
		wake(2, false);
	}
}

static void pair_timed(int me)
{
	if (me == 0)
		wait_once(true);
	else
		wake(1, true);
}

static void setup_pair(void)
{
	setup_plain();
	nr_left = 1;
}

/* ---- threads that end ---- */

struct ending {
	bool done;
	int wait;
};

/* Like a clean-up handler of the user, which runs with the mutex held. */
static void has_ended(struct ending *e)
{
	if (e->done)
		return;
	ledger_enter(&ledger);
	ledger_return(&ledger, e->wait, ECANCELED);
	unlock_it();
}

static void wait_or_end(void)
{
	struct ending e __attribute__((cleanup(has_ended))) = { .done = true };

	lock_it();
	e.wait = ledger_wait(&ledger);
	if (e.wait) {
		e.done = false;
		guarded++;
		ledger_leave(&ledger);
		expect(!drover_cond_wait(&cond, &mutex));
		ledger_enter(&ledger);
		guarded++;
		ledger_return(&ledger, e.wait, 0);
		e.done = true;
	}
	unlock_it();
}

void do_end(int me)
{
	if (me == 0) {
		wait_or_end();
	} else if (me == 1) {
		wait_once(false);
	} else {
		wake(1, true);
		wake(1, true);
	}
}

static void end_broadcast(int me)
{
	if (me == 0)
		wait_or_end();
	else if (me < 3)
		wait_once(false);
	else
		wake(3, true);
}

/* ---- cancellation ---- */

/* The wait may be cancelled. Unlike in the drop-in, the thread then goes on. */
static void wait_cancellable(void)
{
	struct waiter *w = waiter_self();

	lock_it();
	w->cancellations_seen = load_acquire(&w->cancellations); /* [W-SEEN] */
	if (!cancel_pending())
		wait_on(&cond, &ledger, false);
	unlock_it();
}

void do_cancel(int me)
{
	if (me == 0) {
		wait_cancellable();
	} else if (me == 1) {
		cancel_thread(0);
		cond_cancel((pthread_t)thread_handle(0));
	} else {
		wait_once(true);
	}
}

void do_cancel_and_signal(int me)
{
	if (me == 0) {
		wait_cancellable();
	} else if (me == 1) {
		cancel_thread(0);
		cond_cancel((pthread_t)thread_handle(0));
		wake(1, true);
		wake(1, true);
	} else {
		wait_once(false);
	}
}

const struct scenario cond_scenarios[] = {
	{ "pair", 2, 0, SPURIOUS | INTERRUPTS, POLICIES, setup_pair, pair,
	  ledgers_closed },
	{ "pair-destroy", 2, 0, 0, POLICIES, setup_pair, pair_destroy, NULL },
	{ "pair-timed", 2, 0, EXPIRES, POLICIES, setup_pair, pair_timed,
	  ledgers_closed },
	{ "pair-cancel", 2, 0, 0, POLICIES, setup_pair, do_cancel,
	  ledgers_closed },
	{ "signal", 3, 0, 0, POLICIES, setup_plain, do_two_signals,
	  ledgers_closed },
	{ "signal-any", 3, 0, ANY_ORDER | INTERRUPTS | SPURIOUS, POLICIES,
	  setup_plain, do_two_signals, ledgers_closed },
	{ "signal-held", 3, 0, 0, POLICIES, setup_plain, do_two_held_signals,
	  ledgers_closed },
	{ "signallers", 4, 0, ANY_ORDER, POLICIES, setup_plain,
	  do_two_signallers, ledgers_closed },
	{ "broadcast", 3, 0, 0, POLICIES, setup_plain, do_broadcast,
	  ledgers_closed },
	{ "broadcast-any", 3, 0, ANY_ORDER | INTERRUPTS | SPURIOUS, POLICIES,
	  setup_plain, do_broadcast, ledgers_closed },
	{ "refused", 4, 0, SPURIOUS, POLICIES, setup_plain, held_two_groups,
	  ledgers_closed },
	{ "broadcast-held", 3, 0, 0, POLICIES, setup_plain, held_broadcast,
	  ledgers_closed },
	{ "groups", 4, 0, ANY_ORDER, POLICIES, setup_plain, do_two_groups,
	  ledgers_closed },
	{ "groups-held", 4, 0, ANY_ORDER, POLICIES, setup_plain,
	  held_two_groups, ledgers_closed },
	{ "chain", 5, 0, ANY_ORDER | SPURIOUS, POLICIES, setup_plain, do_chain,
	  ledgers_closed },
	{ "timeout", 3, 0, EXPIRES, POLICIES, setup_plain, do_timeout,
	  ledgers_closed },
	{ "timeout-destroy", 2, 0, EXPIRES, POLICIES, setup_plain,
	  timeout_and_destroy, ledgers_closed },
	{ "timeout-three", 4, 0, EXPIRES, POLICIES, setup_plain,
	  timeout_of_three, ledgers_closed },
	{ "timeout-broadcast", 3, 0, EXPIRES, POLICIES, setup_plain,
	  timeout_broadcast, ledgers_closed },
	{ "again", 3, 0, EXPIRES | ANY_ORDER | INTERRUPTS, POLICIES,
	  setup_plain, do_again, ledgers_closed },
	{ "again-signals", 3, 0, 0, POLICIES, setup_plain, do_again_by_signals,
	  ledgers_closed },
	{ "recycle", 3, 0, EXPIRES, POLICIES, setup_plain, recycle,
	  ledgers_closed },
	{ "destroy", 3, 0, 0, POLICIES, setup_destroy, do_destroy,
	  ledgers_closed },
	{ "destroy-at-once", 3, 0, 0, POLICIES, setup_plain, do_destroy_at_once,
	  ledgers_closed },
	{ "destroy-signals", 3, 0, DESTRUCTORS, POLICIES, setup_destroy,
	  destroy_after_signals, ledgers_closed },
	{ "cancel", 3, 0, 0, POLICIES, setup_plain, do_cancel, ledgers_closed },
	{ "cancel-signal", 3, 0, 0, POLICIES, setup_plain, do_cancel_and_signal,
	  ledgers_closed },
	{ "end", 3, 0, ENDS, POLICIES, setup_plain, do_end, ledgers_closed },
	{ "end-broadcast", 4, 0, ENDS, POLICIES, setup_plain, end_broadcast,
	  ledgers_closed },
};
const int nr_cond_scenarios = sizeof(cond_scenarios) / sizeof(*cond_scenarios);
