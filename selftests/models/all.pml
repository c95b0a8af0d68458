/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All features at once: two waiters whose time may run out, one of which may be
 * cancelled, and the other may wait once more, so that a broadcast can meet two
 * groups; a signaller with the mutex and a broadcaster without it; a signal
 * handler; a plain locker of the mutex; destroy as early as is legal.
 *
 * @run long
 */
#define NR_WAITERS	2
#define NR_SIGNALLERS	2
#define NR_THREADS	(NR_WAITERS + NR_SIGNALLERS + 1)
#define NR_GROUPS	3
#define NR_INTERRUPTS	1
#define CANCEL
#define IS_VICTIM(t)	((t) == 0)

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

bool may_wait_again = true;

proctype Waiter(byte t)
{
	WAITER_LOCALS;

	begin_to_wait(0, t, 0);
	if
	:: IS_VICTIM(t) -> waits_on = 1 + g
	:: else
	fi;
	cond_wait(0, t, 0, true);
	left = false;
	mutex_unlock(0, t, IS_VICTIM(t));
	if
	:: IS_VICTIM(t)
	:: atomic {
		!IS_VICTIM(t) ->
		may_wait_again = false;
		mutex_users[0]--
	   }
	:: atomic {
		!IS_VICTIM(t) && mutex_word[0] == FREE && !cond_lock[0] ->
		may_wait_again = false;
		cond_join(0, t, 0)
	   }
		cond_wait(0, t, 0, true);
		left = false;
		mutex_unlock(0, t, 1)
	fi
}

proctype Signaller(byte t)
{
	SIGNALLER_LOCALS;
	bool effective;

	begin_held_and_not(t, 0);
	if
	:: t == NR_WAITERS -> cond_signal(0, t)
	:: t > NR_WAITERS -> cond_broadcast(0, t)
	fi;
	if
	:: effective -> effective = false
	:: else -> calls--
	fi;
	end_signal(t, 0)
}

proctype Canceller()
{
	byte group;

	atomic { is_cancelled = true; kick = true }
	group = waits_on;
	if
	:: group ->
		atomic { group_kick(group - 1) }
		atomic { wake_the_kicked(group - 1); group = 0 }
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
		waiters_started == NR_WAITERS && !may_wait_again && !calls &&
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
