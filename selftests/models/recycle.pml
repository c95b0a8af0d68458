/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two condvars with a mutex each, and threads that go from one to the other:
 * groups are used again for the other condvar, under signallers that are slow
 * to finish with their last use, and under pointers that were left behind.
 *
 * @run
 * @twin NO_PIN nobody_moves_to_a_foreign_mutex: a late requeue
 * @twin NO_OWNER_CHECK return_was_owed: the signal goes to another condvar
 * @twin NO_REF_CHECK recycled_once: a spare group is recycled again
 */
#define NR_WAITERS	3
#define NR_SIGNALLERS	2
#define NR_THREADS	(NR_WAITERS + NR_SIGNALLERS)
#define NR_GROUPS	3
#define NR_CONDS	2
#define NR_MUTEXES	2

#include "futex.inc"
#include "spec.inc"
#include "group.inc"
#include "wait.inc"
#include "release.inc"
#include "signal.inc"
#include "program.inc"

byte waits_again = 1;

/* First on the one or the other, and one of the threads then on the second. */
proctype Waiter(byte t)
{
	WAITER_LOCALS;
	byte on;

	if
	:: begin_to_wait(0, t, 0)
	:: begin_to_wait(1, t, 1);
		on = 1
	fi;
	cond_wait(on, t, on, true);
	mutex_unlock(on, t, 0);
	if
	:: atomic { !on && waits_again -> waits_again--; on = 1 };
		wait_again(1, t, 1);
		cond_wait(1, t, 1, false);
		mutex_unlock(1, t, 0)
	:: skip
	fi
}

/* One for each condvar. */
proctype Signaller(byte t)
{
	SIGNALLER_LOCALS;
	byte on = t - NR_WAITERS;

	if
	:: atomic {
		mutex_word[on] == FREE ->
		mutex_take(on, t, HELD);
		held = true
	   }
	:: skip
	fi;
	SIGNAL_OR_BROADCAST(on, t);
	if
	:: held -> mutex_unlock(on, t, 0)
	:: else
	fi
}

init
{
	atomic {
		run_waiters_and_signallers();
		mutex_users[1] = 1
	}
	quiescence()
}
