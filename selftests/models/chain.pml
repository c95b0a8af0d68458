/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The mutex: waiters that were moved to it, and threads that know nothing of
 * condvars, which come at any moment and queue among them.
 *
 * @run
 * @run -DWAKES_AHEAD -DNR_LOCKERS=0
 * @run long -DWAKES_AHEAD
 * @twin quick NO_MARK nobody_unblocked_is_left: those behind it are forgotten
 * @twin MOVED_READ_LATE nobody_sleeps_on_a_mutex: the group is new by then
 * @twin NO_PASS_WAKE nobody_sleeps_on_a_mutex: the mutex's wake-up is
 *	swallowed
 * @twin NO_SET_CONTENDED nobody_unblocked_is_left: the unlock wakes nobody
 * @twin SLEEPER_NO_MARK nobody_sleeps_on_a_mutex: the rest sleep on
 */
#ifndef NR_LOCKERS
#define NR_LOCKERS	1
#endif
#define FINE_MUTEX
#define WHOLE_MUTEX
#define OWN_SIGNALLER

#include "program.inc"

/* The first signals with the mutex held, the second broadcasts without it. */
proctype Signaller(byte t)
{
	SIGNALLER_LOCALS;

	if
	:: t == NR_WAITERS ->
		mutex_lock(0, t, HELD);
		cond_signal(0, t);
		mutex_unlock(0, t, 1)
	:: t > NR_WAITERS -> cond_broadcast(0, t)
	fi
}
