/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two groups at one broadcast: signals leave an older group with members, and
 * a broadcast meets it and the younger one. Members may be cancelled in spirit:
 * somebody changes the word of a group at any moment.
 *
 * @run
 * @run long -DNR_WAITERS=4
 * @twin SECOND_GROUP_WAKE_NONE nobody_unblocked_is_left: behind one that is gone
 */
#ifndef NR_WAITERS
#define NR_WAITERS	3
#endif
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

proctype Waiter(byte t)
{
	WAITER_LOCALS;

	begin_to_wait(0, t, 0);
	cond_wait(0, t, 0, false);
	mutex_unlock(0, t, 1)
}

/* The first one signals when there are two waiters, the second broadcasts. */
proctype Signaller(byte t)
{
	SIGNALLER_LOCALS;

	begin_to_signal(t, 0);
	if
	:: t == NR_WAITERS -> cond_signal(0, t)
	:: else -> cond_broadcast(0, t)
	fi;
	end_signal(t, 0)
}

proctype Kicker()
{
	byte g;

	select(g : 0 .. NR_GROUPS - 1);
	atomic { group_kick(g) }
	atomic { futex_wake_all(ON_GROUP(g)) }
}

init
{
	atomic {
		run_waiters_and_signallers();
		run Kicker()
	}
	quiescence()
}
