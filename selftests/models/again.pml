/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads that wait again on the condvar, in a group that may be the one that
 * they or others have just left. Signals only, all without the mutex; the time
 * of the first may run out.
 *
 * @run quick
 * @twin quick STALE_CLOSED return_was_owed: one group is both open and closed
 */
#define OWN_WAITER
#define ALIKE
#define MAY_HOLD(t)	false
#define MAY_NOT_HOLD(t)	true
#define CALL		SIGNAL

#include "program.inc"

byte waits_again = 1;

proctype Waiter(byte t)
{
	WAITER_LOCALS;

	begin_to_wait(0, t, 0);
	cond_wait_and_unlock(0, t, 0, t == 0, 0);
	if
	:: atomic { waits_again -> waits_again-- };
		wait_again(0, t, 0);
		cond_wait_and_unlock(0, t, 0, false, 0)
	:: skip
	fi
}
