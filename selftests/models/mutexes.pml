/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One condvar, and waiters that come with different mutexes, one after the
 * other or at one time. Signallers hold the first mutex, or none.
 *
 * @run
 * @twin FIRST_MUTEX_COUNTS nobody_moves_to_a_foreign_mutex: to the first's
 * @twin BEHIND_ANOTHER_MUTEX nobody_moves_to_a_foreign_mutex: behind the older
 */
#define NR_MUTEXES	2
#define OWN_WAITER

#include "program.inc"

proctype Waiter(byte t)
{
	WAITER_LOCALS;
	byte with;

	if
	:: begin_to_wait(0, t, 0)
	:: begin_to_wait(0, t, 1);
		with = 1
	fi;
	cond_wait_and_unlock(0, t, with, false, 0);
	with = 0
}
