/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two condvars with a mutex each, and threads that go from one to the other:
 * groups are used again for the other condvar, under signallers that are slow
 * to finish with their last use, and under pointers that were left behind: the
 * time of the first may run out.
 *
 * @run
 * @twin NO_PIN nobody_moves_to_a_foreign_mutex: a late requeue
 * @twin NO_OWNER_CHECK return_was_owed: the signal goes to another condvar
 * @twin NO_REF_CHECK recycled_once: a spare group is recycled again
 */
#define NR_GROUPS	4
#define NR_CONDS	2
#define NR_MUTEXES	2
#define OWN_WAITER
#define OWN_SIGNALLER
#define OWN_INIT

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
	cond_wait_and_unlock(on, t, on, t == 0, 0);
	if
	:: atomic { !on && waits_again -> waits_again--; on = 1 };
		wait_again(1, t, 1);
		cond_wait_and_unlock(1, t, 1, false, 0)
	:: skip
	fi
}

/* One for each condvar, without the mutex. */
proctype Signaller(byte t)
{
	SIGNALLER_LOCALS;

	EITHER((t - NR_WAITERS), t)
}

/*
 * A signaller or waiter under one condvar's lock: that a group belongs to the
 * other by now it finds only when it has pinned it.
 */
proctype Pinner(byte c)
{
	byte g;

end_pinner:
	atomic {
		IS_ALIVE(cond_closed[c]) && !IS_OWN(cond_closed[c], c) ->
		g = cond_closed[c];
		refs[g - 1]++
	}
	atomic { group_unpin(g - 1) }
}

init
{
	atomic {
		run_all();
		run Pinner(0)
	}
	quiescence()
}
