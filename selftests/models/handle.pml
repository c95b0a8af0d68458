/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [S-USERS] A stream's slot is used again: drover_ticket_wait(), stream_use(),
 * stream_unuse(), drover_stream_destroy() and set_up() of the next stream.
 *
 * The first stream's one operation fails. A thread waits for it by its ticket,
 * at any time; another one destroys the stream as soon as it is done, makes a
 * second one in the slot, and sleeps for its operation, alone. Numbers go on: the
 * operations are 1 and 2. Who wakes looks whether anybody sleeps.
 *
 * @run quick
 * @twin quick NO_AWAIT error_is_kept: the end does not wait for users
 * @twin quick LATE_USE error_is_kept: the waiter looks at the life, then uses
 * @twin quick LIFE_FIRST error_is_kept: who finds it done looks at the life first
 * @twin quick RESET nobody_is_left: begins without its users
 */
#include "guard.inc"

hidden byte error_is_kept, nobody_is_left;

byte life = 1;
byte done;
byte users;
byte sleepers; /* wraps */
bool failed;
bool asleep[2];
bool second_is_there;
byte nr_over;

inline sleep(me, number)
{
	sleepers++;
	do
	:: done >= number -> break
	:: done < number ->
		atomic {
			WHEN(done < number, asleep[me] = true)
		}
		!asleep[me]
	od;
	sleepers--
}

inline set_done(number)
{
	done = number;
	WHEN(sleepers > 0, atomic { asleep[0] = false; asleep[1] = false })
}

active proctype Worker()
{
	failed = true;
	set_done(1);
	second_is_there;
	set_done(2)
}

active proctype Waiter()
{
	bool is_done, has_failed;
	byte seen;

	BUSTED(LIFE_FIRST, seen = life;)
	is_done = (done >= 1);
	has_failed = failed;
	GUARD(LIFE_FIRST, seen = life;)
	if
	:: seen != 1 -> goto over
	:: seen == 1 && is_done ->
		CHECK(error_is_kept, has_failed);
		goto over
	:: else
	fi;
	BUSTED_OR(LATE_USE,
		seen = life;
		users++;,
		users++;
		seen = life;)
	WHEN(seen == 1,
		sleep(0, 1);
		CHECK(error_is_kept, failed));
	users--;
over:	nr_over++
}

active proctype Owner()
{
	done >= 1;
	life = 2;
#if !defined(BUSTED_NO_AWAIT) && !defined(BUSTED_RESET)
	users == 0;
#endif
	BUSTED_OR(RESET, sleepers = 0;, failed = false;)
	life = 3;
	second_is_there = true;
	sleep(1, 2);
	nr_over++
}

JUDGE(CHECK(nobody_is_left, nr_over == 2))
