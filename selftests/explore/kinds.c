// SPDX-License-Identifier: GPL-2.0-only
/* Scenarios of mutexes, and of condition variables with other kinds of them. */
#include <errno.h>

#include <pthread.h>

#include "mutex/mutex.h"
#include "waits.h"

/* ---- the mutex alone ---- */

static void lock_twice(int me)
{
	(void)me;
	lock_it();
	unlock_it();
	lock_it();
	unlock_it();
}

static void lock_and_leave(int me)
{
	(void)me;
	leave_and_destroy();
}

static void setup_leave(void)
{
	setup_plain();
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
	unlock_it();
}

static void setup_pi(void)
{
	drover_mutexattr_t attr = { .flags = DROVER_MUTEX_PI };

	setup_plain();
	nr_left = 2;
	expect(!drover_mutex_init(&mutex, &attr));
}

static void setup_shared(void)
{
	drover_condattr_t shared = { .flags = DROVER_COND_SHARED };
	drover_mutexattr_t attr = { .flags = DROVER_MUTEX_SHARED };

	setup_plain();
	nr_left = 2;
	is_shared = true;
	expect(!drover_mutex_init(&mutex, &attr));
	expect(!drover_cond_init(&cond, &shared));
}

/* ---- everything at once: cancelled, timed, signalled, broadcast to ---- */

static void mixed(int me)
{
	if (me < 3)
		do_cancel_and_signal(me);
	else if (me == 3)
		wait_once(true);
	else
		wake(3, false);
}

/* ---- processes that are killed ---- */

/* No broadcast names the mutex, so no waiter is moved. */

static void setup_killed(void)
{
	setup_shared();
	is_shared = false;
	dies_at(&cond, sizeof(cond),
		(const uint32_t *)&((struct mutex *)&mutex)->owner);
}

/* The killed waiter must not take a broadcast, and may take one signal. */
static void killed_waiter(int me)
{
	if (me < 3)
		wait_once(false);
	else
		wake(3, false);
}

static void killed_waiter_signals(int me)
{
	if (me < 2) {
		wait_once(false);
	} else {
		wake(1, false);
		wake(1, false);
	}
}

/* The second waker does what the killed one has left undone. */
static bool may_go; /* [mutex] */

static void killed_waker(int me)
{
	if (me == 1 || me == 2) {
		lock_it();
		while (!may_go) {
			ledger_leave(&ledger);
			expect(!drover_cond_wait(&cond, &mutex));
			ledger_enter(&ledger);
		}
		unlock_it();
		return;
	}
	if (me == 3)
		pthread_join((pthread_t)thread_handle(0), NULL);
	lock_it();
	may_go = true;
	unlock_it();
	drover_cond_broadcast(&cond);
}

static void killed_signaller(int me)
{
	if (me == 1) {
		killed_waker(1);
		return;
	}
	if (me == 2)
		pthread_join((pthread_t)thread_handle(0), NULL);
	lock_it();
	may_go = true;
	unlock_it();
	drover_cond_signal(&cond);
}

#define SHARED	"auto,spin=0 requeue wake-all auto"
#define MUTEXES "auto,spin=0 auto"

const struct scenario kind_scenarios[] = {
	{ "shared-end", 3, 0, ENDS, SHARED, setup_shared, do_end,
	  ledgers_closed },
	{ "pi", 3, 0, INTERRUPTS, MUTEXES, setup_pi, do_two_signals,
	  ledgers_closed },
	{ "pi-destroy", 3, 0, 0, MUTEXES, setup_pi, do_destroy,
	  ledgers_closed },
	{ "pi-any", 3, 0, SPURIOUS | ANY_ORDER, MUTEXES, setup_pi,
	  do_two_signals, ledgers_closed },
	{ "pi-held", 3, 0, 0, MUTEXES, setup_pi, do_two_held_signals,
	  ledgers_closed },
	{ "pi-broadcast", 3, 0, ANY_ORDER, MUTEXES, setup_pi, do_broadcast,
	  ledgers_closed },
	{ "pi-timeout", 3, 0, EXPIRES, MUTEXES, setup_pi, do_timeout,
	  ledgers_closed },
	{ "shared-signal", 3, 0, INTERRUPTS | SPURIOUS, SHARED, setup_shared,
	  do_two_signals, ledgers_closed },
	{ "shared-signallers", 4, 0, ANY_ORDER, SHARED, setup_shared,
	  do_two_signallers, ledgers_closed },
	{ "shared-broadcast", 3, 0, ANY_ORDER, SHARED, setup_shared,
	  do_broadcast, ledgers_closed },
	{ "shared-groups", 4, 0, ANY_ORDER, SHARED, setup_shared, do_two_groups,
	  ledgers_closed },
	{ "shared-timeout", 3, 0, EXPIRES, SHARED, setup_shared, do_timeout,
	  ledgers_closed },
	{ "shared-again", 3, 0, EXPIRES | ANY_ORDER, SHARED, setup_shared,
	  do_again, ledgers_closed },
	{ "shared-chain", 5, 0, ANY_ORDER, SHARED, setup_shared, do_chain,
	  ledgers_closed },
	{ "shared-destroy", 3, 0, 0, SHARED, setup_shared, do_destroy,
	  ledgers_closed },
	{ "shared-pair-cancel", 2, 0, 0, SHARED, setup_shared, do_cancel,
	  ledgers_closed },
	{ "shared-destroy-at-once", 3, 0, 0, SHARED, setup_shared,
	  do_destroy_at_once, ledgers_closed },
	{ "shared-again-signals", 3, 0, 0, SHARED, setup_shared,
	  do_again_by_signals, ledgers_closed },
	{ "shared-cancel", 3, 0, 0, SHARED, setup_shared, do_cancel_and_signal,
	  ledgers_closed },
	{ "mixed", 5, 0, EXPIRES | ANY_ORDER | INTERRUPTS, POLICIES,
	  setup_plain, mixed, ledgers_closed },
	{ "shared-mixed", 5, 0, EXPIRES | ANY_ORDER | INTERRUPTS, SHARED,
	  setup_shared, mixed, ledgers_closed },
	{ "killed-waiter", 4, 0, DIES, MUTEXES, setup_killed, killed_waiter,
	  NULL },
	{ "killed-waiter-signals", 3, 0, DIES, MUTEXES, setup_killed,
	  killed_waiter_signals, NULL },
	{ "killed-waker", 4, 0, DIES, MUTEXES, setup_killed, killed_waker,
	  NULL },
	{ "killed-signaller", 3, 0, DIES, MUTEXES, setup_killed,
	  killed_signaller, NULL },
	{ "mutex", 3, 0, ANY_ORDER | INTERRUPTS, MUTEXES, setup_plain,
	  lock_twice, NULL },
	{ "mutex-leave", 3, 0, 0, MUTEXES, setup_leave, lock_and_leave, NULL },
	{ "mutex-timed", 3, 0, EXPIRES, MUTEXES, setup_plain, lock_timed,
	  NULL },
	{ "mutex-pi", 3, 0, 0, MUTEXES, setup_pi, lock_twice, NULL },
};
const int nr_kind_scenarios = sizeof(kind_scenarios) / sizeof(*kind_scenarios);
