/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [S-USERS] A stream's slot is used again: drover_ticket_wait(), stream_use(),
 * stream_unuse(), drover_stream_destroy() and set_up() of the next stream.
 *
 * The stream has one operation, which fails. A thread waits for it by its
 * ticket, at any time. Another thread destroys the stream as soon as the
 * operation is done, and makes the next stream in the slot. The numbers of
 * operations go on there, so the operation stays done.
 *
 * @run quick
 * @twin quick NO_AWAIT error_is_kept: destroy does not wait for users
 * @twin quick LATE_USE error_is_kept: the waiter reads the life before it
 *	counts as a user
 * @twin quick LIFE_FIRST error_is_kept: the waiter reads the life before it
 *	reads whether the operation is done
 */
#include "guard.inc"

hidden byte error_is_kept;

byte life = 1;
byte users;
bool done, failed;

active proctype Worker()
{
	failed = true;
	done = true
}

active proctype Waiter()
{
	bool is_done, has_failed;
	byte seen;

	BUSTED(LIFE_FIRST, seen = life;)
	is_done = done;
	has_failed = failed;
	GUARD(LIFE_FIRST, seen = life;)
	if
	:: seen != 1
	:: seen == 1 && is_done -> CHECK(error_is_kept, has_failed)
	:: seen == 1 && !is_done ->
		BUSTED_OR(LATE_USE, seen = life; users++;,
			users++; seen = life;)
		WHEN(seen == 1,
			done;
			CHECK(error_is_kept, failed));
		users--
	fi
}

active proctype Owner()
{
	done;
	life = 2;
	GUARD(NO_AWAIT, users == 0;)
	failed = false;
	life = 3
}
