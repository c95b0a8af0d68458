/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Destroy, and the memory given back, as soon as POSIX permits: when all
 * waiters have been unblocked, whether or not they have returned, or have left,
 * and no call is under way but those that have unblocked somebody. The time of
 * the first waiter may run out.
 *
 * @run
 * @twin DESTROY_NO_LOCK condvar_exists: the poster drops the lock when the last
 *	has left
 * @twin TOUCH_AFTER_UNLOCK condvar_exists: the signaller comes back to it
 * @twin MEMBER_TOUCHES_CONDVAR condvar_exists: when it has been moved
 */
#define NR_WAITERS	3
#define NR_SIGNALLERS	2
#define NR_THREADS	(NR_WAITERS + NR_SIGNALLERS)
#define NR_GROUPS	3

byte calls = NR_SIGNALLERS;
#define SPEC_EFFECT	calls--; effective = true

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
	cond_wait_and_unlock(0, t, 0, t == 0, 1)
}

proctype Signaller(byte t)
{
	SIGNALLER_LOCALS;
	bool effective;

	begin_held_and_not(t, 0);
	SIGNAL_OR_BROADCAST(0, t);
	if
	:: effective
	:: else -> calls--
	fi;
	end_signal(t, 0)
}

proctype Destroyer()
{
end_early:
	atomic {
		waiters_started == NR_WAITERS && !calls &&
		SPEC_ALL_UNBLOCKED(0) ->
		cond_destroy(0)
	}
}

init
{
	atomic {
		run_waiters_and_signallers();
		run Destroyer()
	}
	quiescence()
}
