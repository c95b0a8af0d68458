/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [CV-FORK] The child of a fork has a condvar as the parent's threads left it,
 * with stale waiters, and with its lock held by a thread that the child does
 * not have. The child's threads use it at the same time, and the number of the
 * process is not known yet: fork_generation_own(), cond_lock() and
 * cond_drop_stale().
 *
 * @run quick
 * @twin quick NO_GENERATION nobody_was_dropped: the lock stays the parent's
 * @twin quick OPEN_KEPT no_stale_waiter_is_seen: the parent's group stays
 * @twin quick NO_STALE_LOCK nobody_was_dropped: two threads reset the condvar
 * @twin quick NO_SECOND_LOOK nobody_was_dropped: a second thread resets it
 *	again
 * @twin quick SECOND_NUMBER nobody_was_dropped: a second thread changes the
 *	number of the process
 */
#define NR_THREADS	3

#define UNKNOWN		0
#define PARENTS		1
#define STALE		9

#include "guard.inc"

byte number = UNKNOWN;	/* the process's: wiped.nr_fork */
byte numbers = PARENTS;	/* the last one that was given out: nr_forks */
byte generation = PARENTS;
bool lock = true;	/* held by the parent's thread */
bool stale_lock;
byte open = STALE;
byte inside;
byte joined;

hidden byte one_holds_the_lock, no_stale_waiter_is_seen, nobody_was_dropped;

/*
 * Threads that come at the same time take a number each, and all use the same.
 */
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

/* The stale lock guards this, and under it a thread looks once more. */
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

/* cond_lock(), then a waiter's change of the condvar, then lock_drop(). */
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
