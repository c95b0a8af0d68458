// SPDX-License-Identifier: GPL-2.0-only
/* The actions of threads in scenarios of the condition variable. */
#include <drover/cond.h>
#include <errno.h>

#include "waits.h"

drover_mutex_t mutex;
drover_cond_t cond, other;
struct ledger ledger, other_ledger;
/* Guarded by the mutex. */
int guarded;
/* Several processes use the condvar; then a broadcast names the mutex. */
bool is_shared;
/* How many threads still need the condvar. */
int nr_left;

void lock_it(void)
{
	int err = drover_mutex_lock(&mutex);

	expect(!err);
	ledger_enter(&ledger);
	guarded++;
}

void unlock_it(void)
{
	int err;

	guarded++;
	ledger_leave(&ledger);
	err = drover_mutex_unlock(&mutex);
	expect(!err);
}

/* Wait once on @c, unless there is credit; if @timed, until a deadline. */
int wait_on(drover_cond_t *c, struct ledger *l, bool timed)
{
	struct timespec at = in_a_while();
	int wait, err = 0;

	wait = ledger_wait(l);
	if (wait) {
		guarded++;
		ledger_leave(&ledger);
		waits_now(true);
		err = timed ? drover_cond_clockwait(c, &mutex, CLOCK_MONOTONIC,
						    &at) :
			      drover_cond_wait(c, &mutex);
		waits_now(false);
		ledger_enter(&ledger);
		guarded++;
		ledger_return(l, wait, err);
	}
	expect(!err || err == ETIMEDOUT || err == ECANCELED);
	return err;
}

void wait_once(bool timed)
{
	lock_it();
	wait_on(&cond, &ledger, timed);
	unlock_it();
}

/* Signal if @nr is 1. Otherwise broadcast to @nr threads that wait, or will. */
void wake_on(drover_cond_t *c, struct ledger *l, int nr, bool held)
{
	int call;

	lock_it();
	call = ledger_signal(l, nr);
	if (!held)
		unlock_it();
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
		unlock_it();
}

void setup_plain(void)
{
	drover_mutex_init(&mutex, NULL);
	drover_cond_init(&cond, NULL);
	drover_cond_init(&other, NULL);
	call_it(&mutex, sizeof(mutex), "mutex");
	call_it(&cond, sizeof(cond), "cond");
	call_it(&other, sizeof(other), "other");
	call_it(&guarded, sizeof(guarded), "guarded");
}

void ledgers_closed(void)
{
	ledger_close(&ledger);
	ledger_close(&other_ledger);
}

void destroy_cond(void)
{
	if (is_shared)
		drover_cond_destroy_on(&cond, &mutex);
	else
		drover_cond_destroy(&cond);
	give_back(&cond, sizeof(cond));
}

/* The last thread that leaves destroys the condvar and the mutex. */
void leave_and_destroy(void)
{
	bool last;

	lock_it();
	last = --nr_left == 0;
	unlock_it();
	if (!last)
		return;
	destroy_cond();
	expect(!drover_mutex_destroy(&mutex));
	give_back(&mutex, sizeof(mutex));
}
