/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lib/base/lock.h, and lib/mutex/mutex.c, which is the same lock: threads take it, change
 * what it guards, and drop it. The last one frees the memory that it is in.
 *
 * @run quick
 * @twin SLEEPER_NO_MARK nobody_sleeps: a sleeper leaves the rest asleep
 * @twin UNLOCK_IN_TWO_STEPS nobody_sleeps: one falls asleep between them
 * @twin UNLOCK_LOOKS_AGAIN mutex_exists: the next holder has freed it
 */
#define NR_THREADS	4
#define NR_GROUPS	1
#define FINE_MUTEX

#include "futex.inc"

hidden byte nothing_was_overwritten;
hidden byte nobody_sleeps;
hidden byte i;

byte guarded;

proctype Thread(byte t)
{
	byte seen;

	mutex_lock(0, t, HELD);
	seen = guarded;
	guarded = seen + 1;
	mutex_unlock(0, t, 1)
}

init
{
	atomic {
		mutex_users[0] = NR_THREADS;
		i = 0;
		do
		:: i < NR_THREADS -> run Thread(i); i++
		:: else -> break
		od;
		i = 0
	}
	atomic {
		timeout ->
		i = 0;
		do
		:: i < NR_THREADS ->
			CHECK(nobody_sleeps, at[i] == AWAKE);
			i++
		:: else -> break
		od;
		CHECK(nothing_was_overwritten, guarded == NR_THREADS)
	}
}
