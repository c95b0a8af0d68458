/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lib/barrier/barrier.c and lib/barrier/wait.c: threads arrive, look, fall asleep, and
 * open the gate; with COUNT below NR_THREADS there are more of them than the
 * barrier counts. The first thread out of the last phase destroys it.
 *
 * @run quick
 * @run -DCOUNT=2
 * @run -DNR_THREADS=2 -DCOUNT=2 -DROUNDS=3
 * @twin quick OPEN_IN_TWO_STEPS nobody_is_left: one falls asleep between the
 *	look for sleepers and the opening
 * @twin quick NO_VALUE_CHECK nobody_is_left: one falls asleep in a phase that
 *	is over
 * @twin quick NO_ASLEEP_BIT nobody_is_left: sleepers do not say that they are
 * @twin quick NO_INSIDE barrier_exists: destroy does not wait for those inside
 * @twin quick LEAVE_EARLY barrier_exists: a thread says that it has left and
 *	looks once more
 * @twin quick ALL_OF_THIS_PHASE nobody_gets_through_early -DCOUNT=2: an
 *	arrival beyond the target is taken for one of the present phase
 */
#ifndef NR_THREADS
#define NR_THREADS 3
#endif
#ifndef COUNT
#define COUNT NR_THREADS
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif

#include "guard.inc"

hidden byte nobody_is_left;
hidden byte nobody_gets_through_early;
hidden byte barrier_exists;
hidden byte opened_once;
hidden byte i;

/* The gate: one word. */
byte phase;
byte target = COUNT;
bool asleep;

byte arrived;
byte begin[2];

bool inside[NR_THREADS];
bool sleeping[NR_THREADS];
bool destroyed;
bool over; /* all has been judged: nobody has to end by itself any more */
byte nr_out;
byte nr_done;
byte i_destroy;

#define EXISTS CHECK(barrier_exists, !destroyed)

inline open_gate(t, last)
{
	atomic { EXISTS; begin[(phase + 1) % 2] = last }
#ifdef BUSTED_OPEN_IN_TWO_STEPS
	atomic { EXISTS; was_asleep = asleep }
	atomic {
		CHECK(opened_once, target == last);
		phase++; target = last + COUNT; asleep = false
	}
#else
	atomic {
		EXISTS;
		CHECK(opened_once, target == last);
		was_asleep = asleep;
		phase++; target = last + COUNT; asleep = false
	}
#endif
	if
	:: was_asleep ->
		/* By address only: the barrier may be gone. */
		atomic {
			i = 0;
			do
			:: i < NR_THREADS -> sleeping[i] = false; i++
			:: else -> break
			od;
			i = 0
		}
	:: else
	fi
}

/* Wait until the phase is not @p any more. */
inline await(t, p)
{
	do
	:: atomic { phase != p -> EXISTS; break }
	:: atomic {
		phase == p ->
		EXISTS;
		GUARD(NO_ASLEEP_BIT, asleep = true)
	   }
	   atomic {
		EXISTS;
		if
#ifdef BUSTED_NO_VALUE_CHECK
		:: sleeping[t] = true
#else
		:: phase == p && asleep -> sleeping[t] = true
		BUSTED(NO_ASLEEP_BIT,
			:: phase == p && !asleep -> sleeping[t] = true)
		:: else
#endif
		fi
	   }
	   if
	   :: !sleeping[t]
	   :: over -> goto out
	   fi
	od
}

/* Which phase is arrival @mine of? Opens it, if it is the last one. */
inline arrive_later(t)
{
	do
	:: atomic { EXISTS; p = phase; seen_target = target }
	   atomic { EXISTS; seen_begin = begin[p % 2] }
	   if
	   :: mine <= seen_begin -> p = p - 1; break
	   :: mine > seen_begin && mine == seen_target ->
		open_gate(t, mine); opener = true; break
	   :: mine > seen_begin && mine < seen_target -> break
	   :: mine > seen_begin && mine > seen_target -> await(t, p)
	   fi
	od
}

proctype Thread(byte t)
{
	byte p, mine, seen_target, seen_begin, round;
	bool was_asleep, opener;

	do
	:: round < ROUNDS ->
		inside[t] = true;
		atomic { EXISTS; p = phase; seen_target = target }
		atomic { EXISTS; arrived++; mine = arrived }
		opener = false;
		if
		:: mine == seen_target -> open_gate(t, mine); opener = true
		:: mine < seen_target
		:: mine > seen_target ->
			GUARD(ALL_OF_THIS_PHASE, arrive_later(t))
		fi;
		BUSTED(LEAVE_EARLY, inside[t] = false;)
		if
		:: opener
		:: !opener -> await(t, p)
		fi;
		/* All arrivals of its phase have come. */
		CHECK(nobody_gets_through_early,
		      arrived >= ((mine + COUNT - 1) / COUNT) * COUNT);
		inside[t] = false;
		round++
	:: round == ROUNDS -> break
	od;
#if COUNT == NR_THREADS
	atomic { nr_out++; mine = nr_out }
	if
	:: mine == 1 ->
		/* One look after the other, in order. */
		i_destroy = 0;
		do
		:: i_destroy < NR_THREADS ->
			GUARD(NO_INSIDE, !inside[i_destroy];)
			i_destroy++
		:: i_destroy == NR_THREADS -> break
		od;
		destroyed = true
	:: mine != 1
	fi;
#endif
	nr_done++;
out:	skip
}


init
{
	atomic {
		i = 0;
		do
		:: i < NR_THREADS -> run Thread(i); i++
		:: else -> break
		od;
		i = 0
	}
	atomic {
		timeout ->
		/* Who is alone in the last phase may wait for ever. */
		CHECK(nobody_is_left, nr_done + arrived % COUNT == NR_THREADS);
		over = true
	}
}
