/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two groups at one broadcast: signals leave an older group with members, and a
 * broadcast meets it and the younger one. Somebody changes the word of a group
 * at any moment, as a cancellation does.
 *
 * @run
 * @twin SECOND_GROUP_WAKE_NONE nobody_unblocked_is_left: behind one that is
 *	gone
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
	cond_wait_and_unlock(0, t, 0, false, 1)
}

/* The first one signals, without the mutex; the second broadcasts. */
proctype Signaller(byte t)
{
	SIGNALLER_LOCALS;

	if
	:: atomic { t == NR_WAITERS -> mutex_users[0]-- }
		cond_signal(0, t)
	:: t > NR_WAITERS ->
		if
		:: atomic {
			mutex_word[0] == FREE ->
			mutex_take(0, t, HELD);
			held = true
		   }
		:: mutex_users[0]--
		fi;
		cond_broadcast(0, t);
		end_signal(t, 0)
	fi
}

/* In a spare group nobody would notice. */
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

init
{
	atomic {
		run_waiters_and_signallers();
		run Kicker()
	}
	quiescence()
}
