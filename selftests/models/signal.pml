/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Signals and broadcasts: waiters without deadline, signallers of any kind,
 * with and without the mutex held.
 *
 * @run
 * @run -DTWO_LOOKS
 * @run -DNO_REQUEUE
 * @run -DNR_INTERRUPTS=1
 * @twin SIGNAL_OPEN_FIRST return_was_owed: the younger group is served first
 * @twin quick NO_CLOSING return_was_owed: a signalled group goes on to be
 *	joined
 * @twin OPEN_BEFORE_CLOSED nobody_was_overlooked -DTWO_LOOKS: [CV-EMPTY]
 * @twin TWO_LOOKS no_signal_was_lost: the looks are of different times
 * @twin KEEP_OPEN return_was_owed: a released group is joined
 * @twin WAKE_BEFORE_CHANGE nobody_unblocked_is_left: asleep after the wake-up
 * @twin WAKE_NONE_UNHELD nobody_unblocked_is_left: unlocked before the move
 * @twin WAKE_NONE_FREE nobody_unblocked_is_left: moved to a free mutex
 * @twin LOOK_AT_MUTEX_LATE mutex_exists: after the release
 * @twin CHANGED_IS_DONE nobody_unblocked_is_left: EAGAIN taken for "all moved"
 * @twin REFUSED_IS_DONE nobody_unblocked_is_left -DNO_REQUEUE: ENOSYS likewise
 * @twin MEMBER_WITHOUT_REF no_signal_was_lost: its group is recycled under it
 */
#define NR_WAITERS	3
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
	cond_wait(0, t, 0, false);
	mutex_unlock(0, t, 1)
}

proctype Signaller(byte t)
{
	SIGNALLER_LOCALS;

	begin_to_signal(t, 0);
	SIGNAL_OR_BROADCAST(0, t);
	end_signal(t, 0)
}

init
{
	atomic { run_waiters_and_signallers() }
	quiescence()
}
