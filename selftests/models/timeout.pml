/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Timeouts: time may run out at any moment of a sleep.
 *
 * @run
 * @twin NO_CLAIM no_signal_was_consumed_by_leaving: left after the choice
 * @twin TIMEOUT_TAKES_SIGNAL no_signal_was_consumed_by_leaving: ETIMEDOUT
 * @twin LEAVE_WITH_TOKENS somebody_is_blocked: leaves although signalled
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
	cond_wait_and_unlock(0, t, 0, true, 1)
}

proctype Signaller(byte t)
{
	SIGNALLER_LOCALS;

	begin_held_and_not(t, 0);
	SIGNAL_OR_BROADCAST(0, t);
	end_signal(t, 0)
}

init
{
	atomic { run_waiters_and_signallers() }
	quiescence()
}
