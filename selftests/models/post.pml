/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [S-POST] lib/stream/queue.c: a submitter posts operations, one after the
 * other, and wakes the thread of the queue if that sleeps for one of them.
 * Submitters have stream_lock, so one stands for all.
 *
 * @run quick
 * @run quick -DNR_POSTS=5
 * @twin quick FLAG nothing_is_left_lying: a submitter takes back what the
 *	thread has said, whatever it sleeps for by then
 * @twin quick NO_COMPARE nothing_is_left_lying: a submitter takes back what it
 *	finds, also if it has not posted that number
 * @twin quick NO_VALUE_CHECK nothing_is_left_lying: the thread falls asleep
 *	though something was posted behind its look
 */
#ifndef NR_POSTS
#define NR_POSTS 3
#endif

#define NONE 255

#define CHECK(property, expression) assert((expression) || property)

hidden byte nothing_is_left_lying;

byte posted;
byte asleep = NONE;
bool sleeping;
bool all_posted, all_done;
bool over;

proctype Submitter()
{
	byte number = 1, seen;
	bool wakes;

	do
	:: number <= NR_POSTS ->
		posted = number;
		seen = asleep;
#ifdef BUSTED_FLAG
		wakes = (seen != NONE);
		if
		:: wakes -> asleep = NONE
		:: else
		fi;
#else
		atomic {
#ifdef BUSTED_NO_COMPARE
			wakes = (seen != NONE && asleep == seen);
#else
			wakes = (seen <= number && asleep == seen);
#endif
			if
			:: wakes -> asleep = NONE
			:: else
			fi
		}
#endif
		if
		:: wakes -> sleeping = false
		:: else
		fi;
		number++
	:: else -> break
	od;
	all_posted = true
}

proctype Thread()
{
	byte number = 1, seen;

	do
	:: number <= NR_POSTS ->
		do
		:: posted >= number -> break /* patience_look() */
		:: true ->
			asleep = number;
			seen = posted;
			if
			:: seen >= number -> asleep = NONE; break
			:: else
			fi;
			atomic {
				if
#ifndef BUSTED_NO_VALUE_CHECK
				:: posted != seen
#endif
				:: else -> sleeping = true
				fi
			}
			if
			:: !sleeping
			:: over -> goto out
			fi
		od;
		number++
	:: else -> break
	od;
out:	all_done = true
}

init
{
	atomic {
		run Submitter();
		run Thread()
	}
	all_posted && (sleeping || all_done);
	CHECK(nothing_is_left_lying, !sleeping);
	over = true
}
