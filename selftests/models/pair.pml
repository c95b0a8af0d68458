/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lib/barrier/pair.c: two threads meet at one word, and one of them, or a third
 * one, ends that at any time by arriving at the gate instead. The gate is one step
 * here; barrier.pml has it whole. The first thread out of the last phase destroys
 * the barrier.
 *
 * @run quick
 * @run -DNR_THREADS=3
 * @run -DROUNDS=4
 * @run long -DNR_THREADS=4 -DROUNDS=1
 * @twin quick NO_VALUE_CHECK nobody_is_left: one falls asleep in a phase that
 *	is over
 * @twin quick NO_ASLEEP_BIT nobody_is_left: sleepers do not say that they are
 * @twin quick WAKE_THEN_CLEAR nobody_is_left: one falls asleep in between,
 *	unseen
 * @twin quick CLOSE_WAKES_NOBODY nobody_is_left: a sleeper does not hear of
 *	the end
 * @twin quick NO_CREDIT nobody_is_left: who waits has not arrived at the gate
 * @twin quick LATE_IS_TAKEN nobody_gets_through_early: an arrival that came
 *	too late is one
 * @twin quick PHASE_LATER nobody_is_left: the gate's phase is read after the
 *	arrival
 * @twin quick NO_INSIDE barrier_exists: destroy does not wait for those inside
 * @twin quick CREDIT_LATE nobody_gets_through_early -DNR_THREADS=4 -DROUNDS=1:
 *	others arrive at the gate before the one that came first is counted
 *	there
 * @twin quick NO_BACK nobody_gets_through_early -DNR_THREADS=3: an arrival
 *	that came too late ends the wait of one that waits for the gate
 */
#ifndef NR_THREADS
#define NR_THREADS 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#define BACK 64

#include "guard.inc"

hidden byte nobody_is_left;
hidden byte nobody_gets_through_early;
hidden byte barrier_exists;
hidden byte i;

/* The pair's word. */
short number;
bool closed;
bool asleep;

bool is_pair = true;
byte gate_phase;
byte gate_arrived;

bool inside[NR_THREADS];
bool sleeping[NR_THREADS];
bool destroyed;
bool over; /* all has been judged: nobody has to end by itself any more */
byte nr_arrived; /* in truth */
byte nr_out;
byte nr_done;
byte i_destroy;

#define EXISTS CHECK(barrier_exists, !destroyed)

/* By address only: the barrier may be gone. */
inline wake_all()
{
	atomic {
		i = 0;
		do
		:: i < NR_THREADS -> sleeping[i] = false; i++
		:: else -> break
		od;
		i = 0
	}
}

/* drover_barrier_arrive() and _wait_for(), when there is no pair. */
inline gate_wait(t)
{
	atomic {
		EXISTS;
		nr_arrived++; mine = nr_arrived;
		gate_arrived++; gate_mine = gate_arrived;
		if
		:: gate_mine % 2 == 0 -> gate_phase++
		:: else
		fi
	}
	atomic {
		over || gate_phase > (gate_mine - 1) / 2 ->
		if
		:: over -> goto out
		:: else -> EXISTS
		fi
	}
}

inline close(t)
{
	atomic {
		EXISTS;
		was_closed = closed; was_asleep = asleep;
		odd = number % 2 != 0;
		if
		:: !closed ->
			closed = true; asleep = false;
			GUARD(NO_BACK,
				if
				:: odd -> number = number - BACK
				:: else
				fi)
		:: else
		fi
	}
	if
	:: was_closed -> atomic { !is_pair -> EXISTS }
	:: else ->
		BUSTED(CREDIT_LATE, atomic { EXISTS; is_pair = false })
		if
#ifndef BUSTED_NO_CREDIT
		:: odd ->
			atomic {
				EXISTS;
				gate_arrived++;
				if
				:: gate_arrived % 2 == 0 -> gate_phase++
				:: else
				fi
			}
		:: !odd
#else
		:: true
#endif
		fi;
		atomic { EXISTS; is_pair = false }
		GUARD(CLOSE_WAKES_NOBODY,
			if
			:: was_asleep -> wake_all()
			:: else
			fi)
	fi
}

/* Wait until the word is not what this thread's arrival has made of it. */
inline await(t)
{
	do
	:: atomic { number != word || closed -> EXISTS; break }
	:: atomic {
		number == word && !closed ->
		EXISTS;
		GUARD(NO_ASLEEP_BIT, asleep = true)
	   }
	   atomic {
		EXISTS;
		if
#ifdef BUSTED_NO_VALUE_CHECK
		:: sleeping[t] = true
#else
		:: number == word && !closed && asleep -> sleeping[t] = true
#ifdef BUSTED_NO_ASLEEP_BIT
		:: number == word && !closed && !asleep -> sleeping[t] = true
#endif
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

inline pair_wait(t)
{
	atomic { EXISTS; phase = gate_phase }
	atomic {
		EXISTS;
		number++; word = number;
		was_asleep = asleep; was_closed = closed;
		BUSTED(LATE_IS_TAKEN, was_closed = false;)
		if
		:: !was_closed -> nr_arrived++; mine = nr_arrived
		:: else
		fi
	}
	BUSTED(PHASE_LATER, atomic { EXISTS; phase = gate_phase })
	if
	:: was_closed ->
		atomic { !is_pair -> EXISTS }
		gate_wait(t)
	:: !was_closed && word % 2 != 0 ->
		await(t);
		atomic {
			EXISTS;
			BUSTED_OR(NO_BACK, odd = closed && number == word,
				odd = number < word)
		}
		if
		:: odd ->
			atomic {
				over || gate_phase != phase ->
				if
				:: over -> goto out
				:: else -> EXISTS
				fi
			}
		:: else
		fi
	:: else ->
		if
		:: was_asleep ->
			BUSTED_OR(WAKE_THEN_CLEAR,
				wake_all();
				atomic { EXISTS; asleep = false },
				atomic { EXISTS; asleep = false }
				wake_all())
		:: else
		fi
	fi
}

proctype Thread(byte t)
{
	byte mine, gate_mine, phase, round;
	short word;
	bool was_asleep, was_closed, odd, pair;

	do
	:: round < ROUNDS ->
		inside[t] = true;
		atomic { EXISTS; pair = is_pair }
		if
		:: pair -> pair_wait(t)
		:: pair -> close(t); gate_wait(t)
		:: !pair -> gate_wait(t)
		fi;
		/* The other of its phase has come. */
		CHECK(nobody_gets_through_early,
		      nr_arrived >= ((mine + 1) / 2) * 2);
		inside[t] = false;
		round++
	:: round == ROUNDS -> break
	od;
#if NR_THREADS == 2
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
		CHECK(nobody_is_left, nr_done + nr_arrived % 2 == NR_THREADS);
		over = true
	}
}
