/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lib/barrier/barrier.c and lib/barrier/wait.c: threads arrive, look, fall asleep,
 * and open the gate; with COUNT below NR_THREADS there are more of them than the
 * barrier counts. The first thread out of the last phase destroys it.
 *
 * @model barrier
 * @run quick
 * @run -DCOUNT=2
 * @run -DNR_THREADS=2 -DCOUNT=2 -DROUNDS=3
 * @twin quick OPEN_IN_TWO_STEPS nobody_is_left: one falls asleep in between
 * @twin quick NO_VALUE_CHECK nobody_is_left: asleep in a phase that is over
 * @twin quick NO_ASLEEP_BIT nobody_is_left: sleepers do not say that they are
 * @twin quick NO_INSIDE barrier_exists: destroy does not wait for those inside
 * @twin quick LEAVE_EARLY barrier_exists: looks once more when it has left
 * @twin quick ALL_OF_THIS_PHASE nobody_gets_through_early -DCOUNT=2: an
 *	arrival beyond the target is taken for one of the present phase
 *
 * lib/barrier/pair.c: two threads meet at one word, and one of them, or a third
 * one, ends that at any time by arriving at the gate instead. The gate is one
 * step here:
 *
 * @model pair -DPAIR -DCOUNT=2
 * @run quick
 * @run -DNR_THREADS=3
 * @run -DROUNDS=4
 * @run long -DNR_THREADS=4 -DROUNDS=1
 * @twin quick NO_VALUE_CHECK nobody_is_left: as above
 * @twin quick NO_ASLEEP_BIT nobody_is_left: as above
 * @twin quick WAKE_THEN_CLEAR nobody_is_left: asleep in between
 * @twin quick CLOSE_WAKES_NOBODY nobody_is_left: a sleeper is not told
 * @twin quick NO_CREDIT nobody_is_left: who waits has not arrived at the gate
 * @twin quick LATE_IS_TAKEN nobody_gets_through_early: when it is closed
 * @twin quick PHASE_LATER nobody_is_left: read after the arrival
 * @twin quick NO_INSIDE barrier_exists: as above
 * @twin quick CREDIT_LATE nobody_gets_through_early -DNR_THREADS=4 -DROUNDS=1:
 *	others arrive at the gate before the one that came first is counted
 *	there
 * @twin quick NO_BACK nobody_gets_through_early -DNR_THREADS=3: an arrival
 *	that came too late ends the wait of one that waits for the gate
 */
#if defined(PAIR) && !defined(NR_THREADS)
#define NR_THREADS 2
#elif !defined(NR_THREADS)
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

/* The gate's word, or the pair's. */
bool asleep;

bool inside[NR_THREADS];
bool sleeping[NR_THREADS];
bool destroyed;
bool over; /* all has been judged: nobody has to end by itself any more */
byte arrived; /* of a pair: in truth */
byte nr_out;
byte nr_done;
byte i_destroy;

#define EXISTS CHECK(barrier_exists, !destroyed)

/* By address only: the barrier may be gone. */
inline wake_all()
{
	atomic {
		for (i : 0 .. NR_THREADS - 1) {
			sleeping[i] = false
		}
	}
}

/* Where to sleep: until that is over. */
#ifdef PAIR
#define IS_SAME	(number == word && !closed)
#else
#define IS_SAME	(phase == p)
#endif
#define FALLS_ASLEEP							\
	BUSTED_OR(NO_VALUE_CHECK, true,					\
		(IS_SAME && BUSTED_OR(NO_ASLEEP_BIT, true, asleep)))

inline await(t)
{
	do
	:: atomic { !IS_SAME -> EXISTS; break }
	:: atomic { IS_SAME -> EXISTS; GUARD(NO_ASLEEP_BIT, asleep = true) }
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

#ifndef PAIR
byte phase;
byte target = COUNT;
byte begin[2];

#define MORE_LOCALS byte p, seen_target, seen_begin; bool opener

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

/* Which phase is arrival @mine of? Opens it, if it is the last one. */
inline arrive_later(t)
{
	do
	:: atomic { EXISTS; p = phase; seen_target = target }
	   atomic { EXISTS; seen_begin = begin[p % 2] }
	   if
	   :: mine <= seen_begin -> p = p - 1; break
	   :: mine > seen_begin && mine == seen_target ->
		open_gate(mine); opener = true; break
	   :: mine > seen_begin && mine < seen_target -> break
	   :: mine > seen_begin && mine > seen_target -> await(t)
	   fi
	od
}

inline wait(t)
{
	atomic { EXISTS; p = phase; seen_target = target }
	atomic { EXISTS; arrived++; mine = arrived }
	opener = false;
	if
	:: mine == seen_target -> open_gate(mine); opener = true
	:: mine < seen_target
	:: mine > seen_target -> GUARD(ALL_OF_THIS_PHASE, arrive_later(t))
	fi;
	BUSTED(LEAVE_EARLY, inside[t] = false;)
	if
	:: opener
	:: !opener -> await(t)
	fi
}

#else
#define BACK 64

short number;
bool closed;

bool is_pair = true;
byte gate_phase;
byte gate_arrived;

#define MORE_LOCALS							\
	byte gate_mine, phase; short word; bool was_closed, odd, pair

inline gate_arrive()
{
	gate_arrived++;
	WHEN(gate_arrived % 2 == 0, gate_phase++)
}

inline gate_await(is_over)
{
	atomic {
		over || is_over ->
		if
		:: over -> goto out
		:: else -> EXISTS
		fi
	}
}

/* drover_barrier_arrive() and _wait_for(), when there is no pair. */
inline gate_wait()
{
	atomic {
		EXISTS;
		arrived++; mine = arrived;
		gate_arrive();
		gate_mine = gate_arrived
	}
	gate_await(gate_phase > (gate_mine - 1) / 2)
}

inline close()
{
	atomic {
		EXISTS;
		was_closed = closed; was_asleep = asleep;
		odd = number % 2 != 0;
		WHEN(!closed,
			closed = true; asleep = false;
			GUARD(NO_BACK, number = (odd -> number - BACK : number)))
	}
	if
	:: was_closed -> atomic { !is_pair -> EXISTS }
	:: else ->
		BUSTED(CREDIT_LATE, atomic { EXISTS; is_pair = false })
		if
		GUARD(NO_CREDIT, :: odd -> atomic { EXISTS; gate_arrive() })
		:: BUSTED_OR(NO_CREDIT, true, !odd)
		fi;
		atomic { EXISTS; is_pair = false }
		GUARD(CLOSE_WAKES_NOBODY,
			WHEN(was_asleep, wake_all()))
	fi
}

inline pair_wait(t)
{
	atomic { EXISTS; phase = gate_phase }
	atomic {
		EXISTS;
		number++; word = number;
		was_asleep = asleep; was_closed = closed;
		BUSTED(LATE_IS_TAKEN, was_closed = false;)
		WHEN(!was_closed, arrived++; mine = arrived)
	}
	BUSTED(PHASE_LATER, atomic { EXISTS; phase = gate_phase })
	if
	:: was_closed ->
		atomic { !is_pair -> EXISTS }
		gate_wait()
	:: !was_closed && word % 2 != 0 ->
		await(t);
		atomic {
			EXISTS;
			BUSTED_OR(NO_BACK, odd = closed && number == word,
				odd = number < word)
		}
		WHEN(odd, gate_await(gate_phase != phase))
	:: !was_closed && word % 2 == 0 && was_asleep ->
		BUSTED_OR(WAKE_THEN_CLEAR,
			wake_all();
			atomic { EXISTS; asleep = false },
			atomic { EXISTS; asleep = false }
			wake_all())
	:: else
	fi
}

inline wait(t)
{
	atomic { EXISTS; pair = is_pair }
	if
	:: pair -> pair_wait(t)
	:: pair -> close(); gate_wait()
	:: !pair -> gate_wait()
	fi
}
#endif

active [NR_THREADS] proctype Thread()
{
	byte mine, round;
	bool was_asleep;
	MORE_LOCALS;

	do
	:: round < ROUNDS ->
		inside[_pid] = true;
		wait(_pid);
		/* All arrivals of its phase have come. */
		CHECK(nobody_gets_through_early,
		      arrived >= ((mine + COUNT - 1) / COUNT) * COUNT);
		inside[_pid] = false;
		round++
	:: round == ROUNDS -> break
	od;
#if COUNT == NR_THREADS
	atomic { nr_out++; mine = nr_out }
	if
	:: mine == 1 ->
		/* One look after the other, in order. */
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

active proctype Judge()
{
	atomic {
		timeout ->
		/* Who is alone in the last phase may wait for ever. */
		CHECK(nobody_is_left, nr_done + arrived % COUNT == NR_THREADS);
		over = true
	}
}
