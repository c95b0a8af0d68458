/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One condvar, and waiters that come with different mutexes, one after the
 * other or at one time. Signallers hold the first mutex, or none.
 *
 * @run
 * @twin FIRST_MUTEX_COUNTS nobody_moves_to_a_foreign_mutex: to the first's
 * @twin BEHIND_ANOTHER_MUTEX nobody_moves_to_a_foreign_mutex: behind the older
 */
#define NR_WAITERS	3
#define NR_SIGNALLERS	2
#define NR_THREADS	(NR_WAITERS + NR_SIGNALLERS)
#define NR_GROUPS	3
#define NR_MUTEXES	2

#include "futex.inc"
#include "spec.inc"
#include "group.inc"
#include "wait.inc"
#include "release.inc"
#include "signal.inc"
#include "program.inc"

proctype Waiter(byte t)
{
	WAITER_LOCALS;
	byte with;

	if
	:: begin_to_wait(0, t, 0)
	:: begin_to_wait(0, t, 1);
		with = 1
	fi;
	cond_wait_and_unlock(0, t, with, false, 0);
	with = 0
}

proctype Signaller(byte t)
{
	SIGNALLER_LOCALS;

	begin_held_and_not(t, 0);
	SIGNAL_OR_BROADCAST(0, t);
	end_signal(t, 0)
}

init
{
	atomic {
		run_waiters_and_signallers();
		mutex_users[0] = NR_THREADS;
		mutex_users[1] = NR_THREADS
	}
	quiescence()
}
