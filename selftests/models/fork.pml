/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [CV-FORK] In the child of a fork: a condvar as the parent's threads left it,
 * with stale waiters, and its lock held by a thread that is not there. The
 * child's threads come upon it at the same time, and the number of the process
 * is not known yet: fork_generation_own(), cond_lock() and cond_drop_stale().
 *
 * @run quick
 * @twin quick NO_GENERATION nobody_was_dropped: the parent keeps its lock
 * @twin quick OPEN_KEPT no_stale_waiter_is_seen: the parent's group stays
 * @twin quick NO_STALE_LOCK nobody_was_dropped: two threads start it anew
 * @twin quick NO_SECOND_LOOK nobody_was_dropped: the second one starts it anew
 * @twin quick SECOND_NUMBER nobody_was_dropped: the second one numbers it anew
 */
#define NR_THREADS	3

#define UNKNOWN		0
#define PARENTS		1
#define STALE		9

#include "guard.inc"

byte number = UNKNOWN;	/* of the process: wiped.nr_fork */
byte numbers = PARENTS;	/* given out: nr_forks */
byte generation = PARENTS;
bool lock = true;	/* by the parent's thread */
bool stale_lock;
byte open = STALE;
byte inside;
byte joined;

hidden byte one_holds_the_lock, no_stale_waiter_is_seen, nobody_was_dropped;

/* Those who come at the same time take a number each, and use one of them. */
inline fork_generation_own()
{
	if
	:: number != UNKNOWN
	:: number == UNKNOWN ->
		atomic { numbers++; own = numbers }
		atomic {
			if
			BUSTED_OR(SECOND_NUMBER, :: true ->,
				:: number == UNKNOWN ->)
				number = own
			:: else
			fi
		}
	fi
}

/* With the lock under which that is done, and another look. */
inline cond_drop_stale()
{
	if
	:: generation == number
	:: generation != number ->
		fork_generation_own();
		GUARD(NO_STALE_LOCK,
			atomic { !stale_lock -> stale_lock = true })
		if
		BUSTED_OR(NO_SECOND_LOOK, :: true ->,
			:: generation != number ->)
			GUARD(OPEN_KEPT, open = 0;)
			lock = false;
			generation = number
		:: generation == number
		fi;
		stale_lock = false
	fi
}

/* cond_lock(), then what a waiter does with it; lock_drop(). */
active [NR_THREADS] proctype Thread()
{
	byte own;

	GUARD(NO_GENERATION, cond_drop_stale();)
	atomic { !lock -> lock = true }
	inside++;
	CHECK(one_holds_the_lock, inside == 1);
	CHECK(no_stale_waiter_is_seen, open != STALE);
	open++;
	joined++;
	inside--;
	lock = false
}

JUDGE(CHECK(nobody_was_dropped, open == NR_THREADS && joined == NR_THREADS))
