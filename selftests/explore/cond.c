// SPDX-License-Identifier: GPL-2.0-only
/* Scenarios of the condition variable and of the mutex. */
#include <drover/cond.h>
#include <errno.h>
#include <stdio.h>

#include "base/waiter.h"
#include "cond/cond.h"
#include "scenarios.h"

static drover_mutex_t mutex;
static drover_cond_t cond, other;
static struct ledger ledger, other_ledger;
/* What the mutex guards. */
static int guarded;
/* Several processes use it; then a broadcast names the mutex. */
static bool is_shared;
/* How many threads still need the condvar. */
static int nr_left;

static void lock(void)
{
	int err = drover_mutex_lock(&mutex);

	expect(!err);
	ledger_enter(&ledger);
	guarded++;
}

static void unlock(void)
{
	int err;

	guarded++;
	ledger_leave(&ledger);
	err = drover_mutex_unlock(&mutex);
	expect(!err);
}

/* Wait once on @c, unless there is credit; with @timed to a deadline. */
static int wait_on(drover_cond_t *c, struct ledger *l, bool timed)
{
	struct timespec at = in_a_while();
	int wait, err = 0;

	wait = ledger_wait(l);
	if (wait) {
		guarded++;
		ledger_leave(&ledger);
		err = timed ? drover_cond_clockwait(c, &mutex, CLOCK_MONOTONIC,
						    &at) :
			      drover_cond_wait(c, &mutex);
		ledger_enter(&ledger);
		guarded++;
		ledger_return(l, wait, err);
	}
	expect(!err || err == ETIMEDOUT || err == ECANCELED);
	return err;
}

static void wait_once(bool timed)
{
	lock();
	wait_on(&cond, &ledger, timed);
	unlock();
}

/* @nr: 1, or how many will have waited: a broadcast. */
static void wake_on(drover_cond_t *c, struct ledger *l, int nr, bool held)
{
	int call;

	lock();
	call = ledger_signal(l, nr);
	if (!held)
		unlock();
	if (call) {
		if (nr == 1)
			drover_cond_signal(c);
		else if (is_shared)
			drover_cond_broadcast_on(c, &mutex);
		else
			drover_cond_broadcast(c);
		ledger_signalled(l, call);
	}
	if (held)
		unlock();
}

#define wake(nr, held) wake_on(&cond, &ledger, nr, held)

static void setup(void)
{
	drover_mutex_init(&mutex, NULL);
	drover_cond_init(&cond, NULL);
	drover_cond_init(&other, NULL);
	call_it(&mutex, sizeof(mutex), "mutex");
	call_it(&cond, sizeof(cond), "cond");
	call_it(&other, sizeof(other), "other");
	call_it(&guarded, sizeof(guarded), "guarded");
}

static void closed(void)
{
	ledger_close(&ledger);
	ledger_close(&other_ledger);
}

/* ---- what the threads do ---- */

static void two_signals(int me)
{
	if (me < 2) {
		wait_once(false);
	} else {
		wake(1, false);
		wake(1, false);
	}
}

static void two_held_signals(int me)
{
	if (me < 2) {
		wait_once(false);
	} else {
		wake(1, true);
		wake(1, true);
	}
}

static void two_signallers(int me)
{
	if (me < 2)
		wait_once(false);
	else
		wake(1, me == 2);
}

static void broadcast(int me)
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
static void two_groups(int me)
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

/* Those who were moved, one who comes to lock the mutex, and nobody after. */
static void chain(int me)
{
	if (me < 3) {
		wait_once(false);
	} else if (me == 3) {
		wake(3, true);
	} else {
		lock();
		unlock();
	}
}

static void timeout(int me)
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

static void again(int me)
{
	for (int i = 0; i < 2; i++)
		if (me < 2)
			wait_once(me == 0);
		else
			wake(2, true);
}

/* Wait once, and return by whatever comes. */
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

/* A group of one condvar that is used for the other, while one is signalled. */
static void recycle(int me)
{
	if (me == 0) {
		lock();
		wait_for_anything();
		wait_on(&other, &other_ledger, false);
		unlock();
	} else if (me == 1) {
		drover_cond_signal(&cond);
	} else {
		wake_on(&other, &other_ledger, 1, false);
	}
}

/* The last to leave destroys all. */
static void leave(void)
{
	bool last;

	lock();
	last = --nr_left == 0;
	unlock();
	if (!last)
		return;
	if (is_shared)
		drover_cond_destroy_on(&cond, &mutex);
	else
		drover_cond_destroy(&cond);
	give_back(&cond, sizeof(cond));
	expect(!drover_mutex_destroy(&mutex));
	give_back(&mutex, sizeof(mutex));
}

static void destroy(int me)
{
	if (me < 2) {
		wait_once(false);
		leave();
	} else {
		wake(2, false);
	}
}

static void destroy_after_signals(int me)
{
	if (me < 2) {
		wait_once(false);
		leave();
	} else {
		wake(1, false);
		lock();
		ledger_signal(&ledger, 1);
		drover_cond_signal(&cond);
		ledger_signalled(&ledger, ledger.nr_calls);
		unlock();
	}
}

static void setup_destroy(void)
{
	setup();
	nr_left = 2;
}

/* The least: one that waits, and one that wakes it. */
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
		leave();
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
	setup();
	nr_left = 1;
}

/* ---- threads that end ---- */

struct ending {
	bool done;
	int wait;
};

/* As a clean-up handler of the user's: it has the mutex. */
static void has_ended(struct ending *e)
{
	if (e->done)
		return;
	ledger_enter(&ledger);
	ledger_return(&ledger, e->wait, ECANCELED);
	unlock();
}

static void wait_or_end(void)
{
	struct ending e __attribute__((cleanup(has_ended))) = { .done = true };

	lock();
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
	unlock();
}

static void end(int me)
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

/* The thread is cancelled; unlike in the drop-in nothing acts on it. */
static void wait_cancellable(void)
{
	struct waiter *w = waiter_self();

	lock();
	w->cancellations_seen = load_acquire(&w->cancellations); /* [W-SEEN] */
	if (!cancel_pending())
		wait_on(&cond, &ledger, false);
	unlock();
}

static void cancel(int me)
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

static void cancel_and_signal(int me)
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

/* ---- the mutex alone ---- */

static void lock_twice(int me)
{
	(void)me;
	lock();
	unlock();
	lock();
	unlock();
}

static void lock_and_leave(int me)
{
	(void)me;
	leave();
}

static void setup_leave(void)
{
	setup();
	nr_left = 3;
}

static void lock_timed(int me)
{
	struct timespec at = in_a_while();
	int err = me ? drover_mutex_lock(&mutex) :
		       drover_mutex_timedlock(&mutex, CLOCK_MONOTONIC, &at);

	if (err == ETIMEDOUT)
		return;
	expect(!err);
	ledger_enter(&ledger);
	guarded++;
	unlock();
}

static void setup_pi(void)
{
	drover_mutexattr_t attr = { .flags = DROVER_MUTEX_PI };

	setup();
	nr_left = 2;
	expect(!drover_mutex_init(&mutex, &attr));
}

static void setup_shared(void)
{
	drover_condattr_t shared = { .flags = DROVER_COND_SHARED };
	drover_mutexattr_t attr = { .flags = DROVER_MUTEX_SHARED };

	setup();
	nr_left = 2;
	is_shared = true;
	expect(!drover_mutex_init(&mutex, &attr));
	expect(!drover_cond_init(&cond, &shared));
}

#define SHARED	 "auto,spin=0 requeue wake-all auto"
#define POLICIES "auto,spin=0 requeue wake-all auto auto,1cpu"
#define MUTEXES	 "auto,spin=0 auto"

const struct scenario cond_scenarios[] = {
	{ "pair", 2, 0, SPURIOUS | INTERRUPTS, POLICIES, setup_pair, pair,
	  closed },
	{ "pair-destroy", 2, 0, 0, POLICIES, setup_pair, pair_destroy, NULL },
	{ "pair-timed", 2, 0, EXPIRES, POLICIES, setup_pair, pair_timed,
	  closed },
	{ "pair-cancel", 2, 0, 0, POLICIES, setup_pair, cancel, closed },
	{ "signal", 3, 0, 0, POLICIES, setup, two_signals, closed },
	{ "signal-any", 3, 0, ANY_ORDER | INTERRUPTS | SPURIOUS, POLICIES,
	  setup, two_signals, closed },
	{ "signal-held", 3, 0, 0, POLICIES, setup, two_held_signals, closed },
	{ "signallers", 4, 0, ANY_ORDER, POLICIES, setup, two_signallers,
	  closed },
	{ "broadcast", 3, 0, 0, POLICIES, setup, broadcast, closed },
	{ "broadcast-any", 3, 0, ANY_ORDER | INTERRUPTS | SPURIOUS, POLICIES,
	  setup, broadcast, closed },
	{ "refused", 4, 0, SPURIOUS, POLICIES, setup, held_two_groups, closed },
	{ "broadcast-held", 3, 0, 0, POLICIES, setup, held_broadcast, closed },
	{ "groups", 4, 0, ANY_ORDER, POLICIES, setup, two_groups, closed },
	{ "groups-held", 4, 0, ANY_ORDER, POLICIES, setup, held_two_groups,
	  closed },
	{ "chain", 5, 0, ANY_ORDER | SPURIOUS, POLICIES, setup, chain, closed },
	{ "timeout", 3, 0, EXPIRES, POLICIES, setup, timeout, closed },
	{ "timeout-broadcast", 3, 0, EXPIRES, POLICIES, setup,
	  timeout_broadcast, closed },
	{ "again", 3, 0, EXPIRES | ANY_ORDER | INTERRUPTS, POLICIES, setup,
	  again, closed },
	{ "recycle", 3, 0, EXPIRES, POLICIES, setup, recycle, closed },
	{ "destroy", 3, 0, 0, POLICIES, setup_destroy, destroy, closed },
	{ "destroy-signals", 3, 0, DESTRUCTORS, POLICIES, setup_destroy,
	  destroy_after_signals, closed },
	{ "cancel", 3, 0, 0, POLICIES, setup, cancel, closed },
	{ "cancel-signal", 3, 0, 0, POLICIES, setup, cancel_and_signal,
	  closed },
	{ "end", 3, 0, ENDS, POLICIES, setup, end, closed },
	{ "end-broadcast", 4, 0, ENDS, POLICIES, setup, end_broadcast, closed },
	{ "shared-end", 3, 0, ENDS, SHARED, setup_shared, end, closed },
	{ "pi", 3, 0, INTERRUPTS, MUTEXES, setup_pi, two_signals, closed },
	{ "pi-destroy", 3, 0, 0, MUTEXES, setup_pi, destroy, closed },
	{ "pi-any", 3, 0, SPURIOUS | ANY_ORDER, MUTEXES, setup_pi, two_signals,
	  closed },
	{ "pi-held", 3, 0, 0, MUTEXES, setup_pi, two_held_signals, closed },
	{ "pi-broadcast", 3, 0, ANY_ORDER, MUTEXES, setup_pi, broadcast,
	  closed },
	{ "pi-timeout", 3, 0, EXPIRES, MUTEXES, setup_pi, timeout, closed },
	{ "shared-signal", 3, 0, INTERRUPTS | SPURIOUS, SHARED, setup_shared,
	  two_signals, closed },
	{ "shared-signallers", 4, 0, ANY_ORDER, SHARED, setup_shared,
	  two_signallers, closed },
	{ "shared-broadcast", 3, 0, ANY_ORDER, SHARED, setup_shared, broadcast,
	  closed },
	{ "shared-groups", 4, 0, ANY_ORDER, SHARED, setup_shared, two_groups,
	  closed },
	{ "shared-timeout", 3, 0, EXPIRES, SHARED, setup_shared, timeout,
	  closed },
	{ "shared-again", 3, 0, EXPIRES | ANY_ORDER, SHARED, setup_shared,
	  again, closed },
	{ "shared-chain", 5, 0, ANY_ORDER, SHARED, setup_shared, chain,
	  closed },
	{ "shared-destroy", 3, 0, 0, SHARED, setup_shared, destroy, closed },
	{ "shared-pair-cancel", 2, 0, 0, SHARED, setup_shared, cancel, closed },
	{ "shared-cancel", 3, 0, 0, SHARED, setup_shared, cancel_and_signal,
	  closed },
	{ "mutex", 3, 0, ANY_ORDER | INTERRUPTS, MUTEXES, setup, lock_twice,
	  NULL },
	{ "mutex-leave", 3, 0, 0, MUTEXES, setup_leave, lock_and_leave, NULL },
	{ "mutex-timed", 3, 0, EXPIRES, MUTEXES, setup, lock_timed, NULL },
	{ "mutex-pi", 3, 0, 0, MUTEXES, setup_pi, lock_twice, NULL },
};
const int nr_cond_scenarios = sizeof(cond_scenarios) / sizeof(*cond_scenarios);
