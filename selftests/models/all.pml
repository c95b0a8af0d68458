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
#define NR_LOCKERS	1
#define NR_HANDLERS	1
#define CANCEL
#define IS_VICTIM(t)	((t) == 0)
#define DESTROYS
#define MAY_DESTROY	(!may_wait_again)
#define CALL		EACH
#define OWN_WAITER

bool may_wait_again = true;

#include "program.inc"

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
