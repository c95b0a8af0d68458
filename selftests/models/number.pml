/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [S-NUMBER] lib/stream/number.c: a number is raised, one by one, and threads
 * that sleep until it has a value are woken: number_raise(), number_wait().
 *
 * When a raiser wakes a sleeper, it removes the number for which the sleeper
 * waited, so the next raise makes no system call. It does so only if the
 * sleeper was always alone, because then the number is this sleeper's. The
 * thread of a stream's queue waits for one number after the other; other
 * threads wait for one.
 *
 * @run quick
 * @twin quick NO_MIXED nobody_is_left: the last sleeper is taken for the only
 *	one
 * @twin quick READ_FIRST nobody_is_left: a raiser reads the sleepers, then
 *	raises
 * @twin quick NO_VALUE_CHECK nobody_is_left: the number is raised before the
 *	sleep
 */
#define NR_WAITERS 3
#define LAST 3
#define NONE 255

#include "guard.inc"

hidden byte nobody_is_left;

byte at;
/* The word of the sleepers: one step changes all of it. */
byte count, least = NONE;
bool mixed;
bool asleep[NR_WAITERS];
byte nr_over;

active proctype Raiser()
{
	byte to = 1, seen_count, seen_least, i;
	bool seen_mixed;

	do
	:: to <= LAST ->
		GUARD(READ_FIRST, at = to;)
		atomic {
			seen_count = count;
			seen_least = least;
			seen_mixed = mixed
		}
		BUSTED(READ_FIRST, at = to;)
		WHEN(seen_count && seen_least <= to,
			atomic {
				WHEN(seen_count == 1 && !seen_mixed &&
				     count == 1 && least == seen_least && !mixed,
					least = NONE)
			}
			d_step {
				for (i : 0 .. NR_WAITERS - 1) {
					asleep[i] = false
				}
				i = 0
			});
		to++
	:: else -> break
	od
}

inline enter(number)
{
	d_step {
		GUARD(NO_MIXED, mixed = (count > 0);)
		count++;
		least = (number < least -> number : least)
	}
}

inline leave()
{
	d_step {
		count--;
		WHEN(!count, least = NONE; mixed = false)
	}
}

inline wait_for(number)
{
	enter(number);
	do
	::	seen = at;
		WHEN(seen >= number, break);
		atomic {
			if
			GUARD(NO_VALUE_CHECK, :: at != seen)
			:: else -> asleep[me] = true
			fi
		}
		!asleep[me]
	od;
	leave()
}

/* The first thread waits for all numbers, the others for one each. */
active [NR_WAITERS] proctype Waiter()
{
	byte number = 1, seen, me = _pid - 1;

	if
	:: me == 0 ->
		do
		:: number <= LAST -> wait_for(number); number++
		:: else -> break
		od
	:: me > 0 ->
		number = me + 1;
		wait_for(number)
	fi;
	nr_over++
}

JUDGE(CHECK(nobody_is_left, nr_over == NR_WAITERS))
