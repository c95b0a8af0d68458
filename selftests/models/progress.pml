/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Progress: two waiters and a signaller that unblocks both. Under weak
 * fairness, a thread that can go on for ever does so some time, both return.
 *
 * @run quick
 * @twin quick SLEEPER_NO_MARK acceptance_cycle: asleep for ever
 * @twin quick WAKE_BEFORE_CHANGE acceptance_cycle: asleep for ever
 */
#define NR_WAITERS	2
#define NR_SIGNALLERS	1
#define NR_GROUPS	2
#define NR_HANDLERS	1
#define OWN_WAITER
#define OWN_SIGNALLER
#define OWN_INIT

#include "program.inc"

byte returned;

proctype Waiter(byte t)
{
	WAITER_LOCALS;

	begin_to_wait(0, t, 0);
	cond_wait(0, t, 0, false);
	mutex_unlock(0, t, 1);
	returned++
}

proctype Signaller(byte t)
{
	SIGNALLER_LOCALS;

	waiters_started == NR_WAITERS;
	if
	:: mutex_lock(0, t, HELD);
		held = true
	:: mutex_users[0]--
	fi;
	if
	:: cond_signal(0, t);
		cond_signal(0, t)
	:: cond_broadcast(0, t)
	fi;
	end_signal(t, 0)
}

init
{
	atomic { run_all() }
}

ltl both_return { <> (returned == NR_WAITERS) }
