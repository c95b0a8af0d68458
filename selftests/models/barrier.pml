/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lib/barrier/barrier.c and lib/barrier/wait.c: threads arrive, look, fall
 * asleep, and open the gate. If COUNT is below NR_THREADS, there are more
 * threads than the barrier counts. The first thread that leaves the last phase
 * destroys the barrier.
 *
 * @model barrier
 * @run quick
 * @run -DCOUNT=2 -DROUNDS=3
 * @run -DNR_THREADS=2 -DCOUNT=2 -DROUNDS=3
 * @twin quick OPEN_IN_TWO_STEPS nobody_is_left: a thread falls asleep in
 *	between
 * @twin quick NO_VALUE_CHECK nobody_is_left: a thread falls asleep in a phase
 *	that is over
 * @twin quick NO_ASLEEP_BIT nobody_is_left: sleepers do not say that they sleep
 * @twin quick NO_INSIDE barrier_exists: destroy does not wait for threads
 *	inside
 * @twin quick LEAVE_EARLY barrier_exists: a thread looks again when it has left
 * @twin quick ALL_OF_THIS_PHASE nobody_gets_through_early -DCOUNT=2: an
 *	arrival beyond the target is taken for one of the present phase
 * @twin quick NO_SECOND_LOOK nobody_gets_through_early -DCOUNT=2 -DROUNDS=3:
 *	the number that a phase begins with is that of the phase after the next
 *	one
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

hidden byte nobody_is_left, nobody_gets_through_early, barrier_exists,
	opened_once, i;

/* The gate. */
bool asleep;
byte phase;
byte target = COUNT;

byte begin[2];

bool inside[NR_THREADS];
bool sleeping[NR_THREADS];
bool destroyed;
bool over; /* all has been judged: a thread may stay asleep */
byte arrived;
byte nr_out;
byte nr_done;
byte i_destroy;

#define EXISTS CHECK(barrier_exists, !destroyed)

/* A wake-up uses only the address: the barrier may be gone. */
inline wake_all()
{
	atomic {
		for (i : 0 .. NR_THREADS - 1) {
			sleeping[i] = false
		}
	}
}

#define FALLS_ASLEEP							\
	BUSTED_OR(NO_VALUE_CHECK, true,					\
		(phase == p && BUSTED_OR(NO_ASLEEP_BIT, true, asleep)))

inline await(t)
{
	do
	:: atomic { phase != p -> EXISTS; break }
	:: atomic { phase == p -> EXISTS; GUARD(NO_ASLEEP_BIT, asleep = true) }
	   atomic {
		EXISTS;
		WHEN(FALLS_ASLEEP, sleeping[t] = true)
	   }
	   if
	   :: !sleeping[t]
	   :: over -> goto out
	   fi
	od
}

inline change_phase(last)
{
	CHECK(opened_once, target == last);
	phase++;
	target = last + COUNT;
	asleep = false
}

inline open_gate(last)
{
	atomic { EXISTS; begin[(phase + 1) % 2] = last }
	BUSTED_OR(OPEN_IN_TWO_STEPS,
		atomic { EXISTS; was_asleep = asleep }
		atomic { change_phase(last) },
		atomic { EXISTS; was_asleep = asleep; change_phase(last) })
	WHEN(was_asleep, wake_all())
}

/* Find the phase of arrival @mine, which may be beyond the target. */
inline arrive_later(t)
{
	do
	:: mine > seen_target ->
		await(t);
		do
		:: atomic { EXISTS; p = phase; seen_target = target }
		   atomic { EXISTS; seen_begin = begin[p % 2] }
		   WHEN(BUSTED_OR(NO_SECOND_LOOK, true, phase == p), break)
		od;
		WHEN(mine <= seen_begin, p = p - 1; break)
	:: mine <= seen_target -> break
	od
}

inline wait(t)
{
	atomic { EXISTS; p = phase; seen_target = target }
	atomic { EXISTS; arrived++; mine = arrived }
	opener = false;
	GUARD(ALL_OF_THIS_PHASE, arrive_later(t))
	WHEN(mine == seen_target, open_gate(mine); opener = true)
	BUSTED(LEAVE_EARLY, inside[t] = false;)
	if
	:: opener
	:: !opener -> await(t)
	fi
}

active [NR_THREADS] proctype Thread()
{
	byte mine, round, p, seen_target, seen_begin;
	bool was_asleep, opener;

	do
	:: round < ROUNDS ->
		inside[_pid] = true;
		wait(_pid);
		/* The gate has been opened after its phase. */
		CHECK(nobody_gets_through_early, phase * COUNT >= mine);
		inside[_pid] = false;
		round++
	:: round == ROUNDS -> break
	od;
#if COUNT == NR_THREADS
	atomic { nr_out++; mine = nr_out }
	if
	:: mine == 1 ->
		/* Destroy looks at the threads one after the other. */
		for (i_destroy : 0 .. NR_THREADS - 1) {
			GUARD(NO_INSIDE, !inside[i_destroy];)
			skip
		}
		destroyed = true
	:: mine != 1
	fi;
#endif
	nr_done++;
out:	skip
}

/* Threads of a phase that is not complete may wait for ever. */
JUDGE(CHECK(nobody_is_left, nr_done + arrived % COUNT == NR_THREADS);
      over = true)
