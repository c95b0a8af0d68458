/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cancellation of a waiting thread: wait_cancellable() and drop_in_cancel() of
 * lib/pthread/cond.c, waiter_kick() of lib/cond/waiter.c. One thread is cancelled,
 * at any moment.
 *
 * @run
 * @run long -DBROADCAST
 * @twin KICK_READ_EARLY nobody_cancelled_is_left: before it reads the word
 * @twin KICK_READ_ONLY_WHEN_WOKEN nobody_cancelled_is_left: kicked before
 * @twin KICK_WITHOUT_CHANGE nobody_cancelled_is_left: the kick before the sleep
 * @twin KICK_SEEN_LATE nobody_cancelled_is_left: it is taken for an old one
 */
#define NR_WAITERS	3
#define NR_SIGNALLERS	2
#define NR_THREADS	(NR_WAITERS + NR_SIGNALLERS)
#define NR_GROUPS	3
#define CANCEL

byte victim;
#define IS_VICTIM(t)	((t) == victim)

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
	:: IS_VICTIM(t) ->
#ifndef BUSTED_KICK_SEEN_LATE
		kick_seen = kick;
#endif
	:: else
	fi;
	if
	:: atomic {
		waiters_started == t && IS_VICTIM(t) && is_cancelled ->
		waiters_started++;
		mutex_users[0]--;
		goto acts
	   }
	:: atomic {
		waiters_started == t && !(IS_VICTIM(t) && is_cancelled) &&
		mutex_word[0] == FREE && !cond_lock[0] ->
		waiters_started++;
		cond_join(0, t, 0)
	   }
	fi;
	if
	:: IS_VICTIM(t) ->
#ifdef BUSTED_KICK_SEEN_LATE
		kick_seen = kick;
#endif
		waits_on = 1 + g
	:: else
	fi;
	cond_wait_and_unlock(0, t, 0, false, 1);
	CHECK(only_the_cancelled_leave,
	      !left || (IS_VICTIM(t) && is_cancelled));
	left = false;
acts:	skip
}

proctype Signaller(byte t)
{
	SIGNALLER_LOCALS;

	begin_held_and_not(t, 0);
#ifdef BROADCAST
	if
	:: t == NR_WAITERS -> cond_signal(0, t)
	:: t > NR_WAITERS -> cond_broadcast(0, t)
	fi;
#else
	cond_signal(0, t);
#endif
	end_signal(t, 0)
}

proctype Canceller()
{
	byte group;

	is_cancelled = true;
	kick = true;
	group = waits_on;
	if
	:: group ->
#ifndef BUSTED_KICK_WITHOUT_CHANGE
		atomic { group_kick(group - 1) }
#endif
		atomic { wake_the_kicked(group - 1); group = 0 }
	:: else
	fi
}

init
{
	atomic {
		select(victim : 0 .. NR_WAITERS - 1);
		run_waiters_and_signallers();
		run Canceller()
	}
	quiescence()
}
