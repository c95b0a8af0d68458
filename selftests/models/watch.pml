/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waiters that look for their signal before they sleep, and signallers that make
 * no system call then. Any look may end at any moment, and so may any wait.
 *
 * @run
 * @run -DNR_WAITERS=2 -DTIMED
 * @run -DNR_WAITERS=2 -DKICKED
 * @twin SLEEPS_AWAKE nobody_unblocked_is_left: asleep, and taken for awake
 * @twin JOIN_LEAVES_AWAKE who_is_awake_is_alone: the second one sleeps
 * @twin AWAKE_READ_EARLY nobody_unblocked_is_left: it has fallen asleep since
 */
#ifndef NR_WAITERS
#define NR_WAITERS	3
#endif
#define NR_SIGNALLERS	2
#define NR_THREADS	(NR_WAITERS + NR_SIGNALLERS)
#define NR_GROUPS	3
#define WATCHES
#ifdef TIMED
#define MAY_TIME_OUT	true
#else
#define MAY_TIME_OUT	false
#endif

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

	begin_to_wait(0, t, 0);
	cond_wait_and_unlock(0, t, 0, MAY_TIME_OUT, 1)
}

proctype Signaller(byte t)
{
	SIGNALLER_LOCALS;

	begin_held_and_not(t, 0);
	SIGNAL_OR_BROADCAST(0, t);
	end_signal(t, 0)
}

#ifdef KICKED
proctype Kicker()
{
	byte g;

end_kicker:
	if
	:: atomic { refs[0] -> group_kick(0) }
	:: atomic { refs[1] -> g = 1; group_kick(1) }
	:: atomic { refs[2] -> g = 2; group_kick(2) }
	fi;
	atomic { futex_wake_all(ON_GROUP(g)); g = 0 }
}
#endif

init
{
	atomic {
		run_waiters_and_signallers()
#ifdef KICKED
		; run Kicker()
#endif
	}
	quiescence()
}
