/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cancellation of a waiting thread: wait_cancellable() and drop_in_cancel() of
 * lib/pthread/cond.c, cond_interrupt() of lib/cond/cancel.c. One thread is
 * cancelled, at any moment.
 *
 * @run
 * @run long -DCALL=EACH
 * @twin INTERRUPT_READ_EARLY nobody_cancelled_is_left: before it reads the
 *	word
 * @twin INTERRUPT_READ_ONLY_WHEN_WOKEN nobody_cancelled_is_left: it was there
 *	before
 * @twin INTERRUPT_WITHOUT_CHANGE nobody_cancelled_is_left: it comes before the
 *	sleep
 * @twin INTERRUPT_SEEN_LATE nobody_cancelled_is_left: it is taken for an old
 *	one
 */
#define CANCEL
#define OWN_WAITER
#define OWN_INIT
#ifndef CALL
#define CALL		SIGNAL
#endif

byte victim;
#define IS_VICTIM(t)	((t) == victim)

#include "program.inc"

hidden byte only_the_cancelled_leave;

proctype Waiter(byte t)
{
	WAITER_LOCALS;

	/* wait_cancellable() is a cancellation point before it waits, too. */
	if
	:: IS_VICTIM(t) ->
		GUARD(INTERRUPT_SEEN_LATE, interrupt_seen = interrupted;)
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
		BUSTED(INTERRUPT_SEEN_LATE, interrupt_seen = interrupted;)
		waits_on = 1 + g
	:: else
	fi;
	cond_wait_and_unlock(0, t, 0, false, 1);
	CHECK(only_the_cancelled_leave,
	      !left || (IS_VICTIM(t) && is_cancelled));
	left = false;
acts:	skip
}

init
{
	atomic {
		select(victim : 0 .. NR_WAITERS - 1);
		run_all()
	}
	quiescence()
}
