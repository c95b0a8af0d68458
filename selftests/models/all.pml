/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All features at once: three waiters whose time may run out, one of which may
 * be cancelled; two signallers, of which at least one broadcasts; a signal
 * handler; a plain locker of the mutex; destroy as early as is legal.
 *
 * @run long -DNR_WAITERS=2
 * @run long
 */
#ifndef NR_WAITERS
#define NR_WAITERS	3
#endif
#define NR_SIGNALLERS	2
#define NR_THREADS	(NR_WAITERS + NR_SIGNALLERS + 1)
#define NR_GROUPS	3
#define NR_INTERRUPTS	1
#define CANCEL

#define LOCKER		(NR_THREADS - 1)

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
	waits_on[t] = 1 + g;
	cond_wait(0, t, 0, true);
	mutex_unlock(0, t, 1)
}

proctype Signaller(byte t)
{
	SIGNALLER_LOCALS;
	bool effective;

	begin_to_signal(t, 0);
	if
	:: t == NR_WAITERS -> cond_signal(0, t)
	:: cond_broadcast(0, t)
	fi;
	if
	:: effective
	:: else -> calls--
	fi;
	end_signal(t, 0)
}

proctype Canceller()
{
	byte group;

	atomic { cancelled[0] = true; kick[0] = true }
	group = waits_on[0];
	if
	:: group ->
		atomic { group_kick(group - 1) }
		atomic { futex_wake_all(ON_GROUP(group - 1)) }
	:: else
	fi
}

proctype Locker()
{
	mutex_lock(0, LOCKER, HELD);
	mutex_unlock(0, LOCKER, 1)
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
		mutex_users[0] = NR_THREADS;
		run Canceller();
		run Locker();
		run Destroyer()
	}
	quiescence()
}
