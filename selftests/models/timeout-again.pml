/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads that wait again on the condvar, in a group that may be the one that
 * they or others have just left. Signals only, all without the mutex; the time
 * of the first may run out.
 *
 * @run
 * @twin STALE_CLOSED return_was_owed: one group is both open and closed
 */
#define NR_WAITERS	3
#define NR_SIGNALLERS	2
#define NR_THREADS	(NR_WAITERS + NR_SIGNALLERS)
#define NR_GROUPS	3

#include "futex.inc"
#include "spec.inc"
#include "group.inc"
#include "wait.inc"
#include "release.inc"
#include "signal.inc"
#include "program.inc"

byte waits_again = 1;

proctype Waiter(byte t)
{
	WAITER_LOCALS;

	begin_to_wait(0, t, 0);
	cond_wait_and_unlock(0, t, 0, t == 0, 0);
	if
	:: atomic { waits_again -> waits_again-- };
		wait_again(0, t, 0);
		cond_wait_and_unlock(0, t, 0, false, 0)
	:: skip
	fi
}

proctype Signaller(byte t)
{
	SIGNALLER_LOCALS;

	atomic {
		signallers_started == t - NR_WAITERS ->
		signallers_started++;
		mutex_users[0]--
	}
	cond_signal(0, t)
}

init
{
	atomic {
		run_waiters_and_signallers();
		mutex_users[0] = NR_THREADS
	}
	quiescence()
}
