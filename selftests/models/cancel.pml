/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cancellation of a waiting thread: wait_cancellable() and drop_in_cancel() of
 * lib/pthread/cond.c, kick() of lib/waiter.c. One thread is cancelled, at any
 * moment.
 *
 * @run
 * @twin KICK_READ_EARLY nobody_cancelled_is_left: before it reads the word
 * @twin KICK_READ_ONLY_WHEN_WOKEN nobody_cancelled_is_left: kicked before
 * @twin KICK_WITHOUT_CHANGE nobody_cancelled_is_left: the kick before the sleep
 * @twin LEAVE_WITH_TOKENS nobody_unblocked_is_left: its wake-up is lost
 * @twin NO_AWAITED_KICK nobody_to_leave_is_left: the wake-up went to another
 */
#define NR_WAITERS	3
#define NR_SIGNALLERS	2
#define NR_THREADS	(NR_WAITERS + NR_SIGNALLERS)
#define NR_GROUPS	3
#define CANCEL

#include "futex.inc"
#include "spec.inc"
#include "group.inc"
#include "wait.inc"
#include "release.inc"
#include "signal.inc"
#include "program.inc"

hidden byte only_the_cancelled_leave;

proctype Waiter(byte t)
{
	WAITER_LOCALS;

	/* wait_cancellable() is a cancellation point before it waits, too. */
	if
	:: atomic {
		waiters_started == t && cancelled[t] ->
		waiters_started++;
		mutex_users[0]--;
		goto acts
	   }
	:: atomic {
		waiters_started == t && !cancelled[t] &&
		mutex_word[0] == FREE && !cond_lock[0] ->
		waiters_started++;
		kick[t] = false;
		cond_join(0, t, 0)
	   }
	fi;
	waits_on[t] = 1 + g;
	cond_wait(0, t, 0, false);
	CHECK(only_the_cancelled_leave, !left || cancelled[t]);
	mutex_unlock(0, t, 1);
acts:	skip
}

/* The first one holds the mutex, the second does not. */
proctype Signaller(byte t)
{
	SIGNALLER_LOCALS;

	if
	:: atomic {
		t == NR_WAITERS && mutex_word[0] == FREE ->
		mutex_take(0, t, HELD)
	   }
		cond_signal(0, t);
		mutex_unlock(0, t, 1)
	:: atomic { t > NR_WAITERS -> mutex_users[0]-- }
		cond_signal(0, t)
	fi
}

proctype Canceller()
{
	byte t, group;

	select(t : 0 .. NR_WAITERS - 1);
	cancelled[t] = true;
	kick[t] = true;
	group = waits_on[t];
	if
	:: group ->
#ifndef BUSTED_KICK_WITHOUT_CHANGE
		atomic { group_kick(group - 1) }
#endif
		atomic { futex_wake_all(ON_GROUP(group - 1)) }
	:: else
	fi
}

init
{
	atomic {
		run_waiters_and_signallers();
		run Canceller()
	}
	quiescence()
}
