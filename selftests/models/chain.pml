/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The mutex: waiters that were moved to it, and threads that know nothing of
 * condvars, which come at any moment and queue among them.
 *
 * @run
 * @run -DWAKES_AHEAD -DNR_LOCKERS=0
 * @run -DWAKES_AHEAD
 * @twin quick NO_MARK nobody_unblocked_is_left: those behind it are forgotten
 * @twin MOVED_READ_LATE nobody_sleeps_on_a_mutex: the group is new by then
 * @twin NO_PASS_WAKE nobody_sleeps_on_a_mutex: the mutex's wake-up is swallowed
 * @twin NO_SET_CONTENDED nobody_unblocked_is_left: the unlock wakes nobody
 * @twin SLEEPER_NO_MARK nobody_sleeps_on_a_mutex: the rest sleep on
 */
#define NR_WAITERS	3
#define NR_SIGNALLERS	2
#ifndef NR_LOCKERS
#define NR_LOCKERS	1
#endif
#define NR_THREADS	(NR_WAITERS + NR_SIGNALLERS + NR_LOCKERS)
#define NR_GROUPS	3
#define FINE_MUTEX

#include "futex.inc"
#include "spec.inc"
#include "group.inc"
#include "wait.inc"
#include "release.inc"
#include "signal.inc"
#include "program.inc"

byte lockers_started;

proctype Waiter(byte t)
{
	WAITER_LOCALS;

	begin_to_wait(0, t, 0);
	cond_wait(0, t, 0, false);
	mutex_unlock(0, t, 1)
}

/* Who has released others, and has the mutex no more, may wake one of them. */
inline herd_wake_ahead(m)
{
	if
	:: atomic {
		CHECK(mutex_exists, mutex_users[m]);
		futex_wake_one(ON_MUTEX(m))
	   }
	:: skip
	fi
}

/* The first signals with the mutex held, the second broadcasts without it. */
proctype Signaller(byte t)
{
	SIGNALLER_LOCALS;

	if
	:: t == NR_WAITERS ->
		mutex_lock(0, t, HELD);
		cond_signal(0, t);
#ifdef WAKES_AHEAD
		mutex_unlock(0, t, 0);
		herd_wake_ahead(0);
		mutex_lock(0, t, HELD);
#endif
		mutex_unlock(0, t, 1)
	:: t > NR_WAITERS -> cond_broadcast(0, t)
	fi
}

proctype Locker(byte t)
{
	atomic {
		lockers_started == t - NR_WAITERS - NR_SIGNALLERS ->
		lockers_started++
	}
	mutex_lock(0, t, HELD);
	mutex_unlock(0, t, 1)
}

init
{
	atomic {
		run_waiters_and_signallers();
		mutex_users[0] = NR_THREADS;
		i = NR_WAITERS + NR_SIGNALLERS;
		do
		:: i < NR_THREADS -> run Locker(i); i++
		:: else -> break
		od;
		i = 0
	}
	quiescence()
}
