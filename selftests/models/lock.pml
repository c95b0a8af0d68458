/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lib/base/lock.h, and the words of lib/mutex/mutex.c, which are the same lock:
 * threads take the lock, change what it guards, and drop it. The last thread
 * frees the lock's memory.
 *
 * The PI futex beside the word comes into use at any moment. A thread that
 * takes the lock after that takes the PI futex first; a thread that came before
 * has only the word. The thread that frees the memory waits by lock_settle().
 *
 * @run quick
 * @twin quick SLEEPER_NO_MARK nobody_sleeps: the other sleepers are forgotten
 * @twin quick UNLOCK_IN_TWO_STEPS nobody_sleeps: a thread falls asleep in
 *	between
 * @twin quick UNLOCK_LOOKS_AGAIN mutex_exists: the next holder has freed it
 * @twin quick PI_EXCLUDES mutex_is_held_by_one: another thread has only the
 *	word
 * @twin quick PI_ASKED_LATE lock_exists: the lock is read when it is free
 * @twin quick NO_SETTLE lock_exists: the last holder still drops the PI futex
 */
#define NR_THREADS	4
#define NR_GROUPS	1
#define FINE_MUTEX

#include "futex.inc"

hidden byte nothing_was_overwritten, nobody_sleeps, lock_exists, i;

byte guarded;
bool pi_used;			/* lock_pi_used */
byte pi_holder = NR_THREADS;	/* lock.pi */
bool gone;

#define EXISTS CHECK(lock_exists, !gone)

inline lock_pi_take(t)
{
	atomic { pi_holder == NR_THREADS -> EXISTS; pi_holder = t }
}

inline lock_pi_drop(t)
{
	EXISTS;
	atomic { CHECK(lock_exists, pi_holder == t); pi_holder = NR_THREADS }
}

inline lock_take(t)
{
	WHEN(pi_used, lock_pi_take(t));
	BUSTED_OR(PI_EXCLUDES,
		if
		:: pi_holder == t -> mutex_take(0, t, HELD)
		:: pi_holder != t -> mutex_lock(0, t, HELD)
		fi,
		mutex_lock(0, t, HELD))
}

/* lock_pi_mine(), and the question whether PI futexes are in use at all. */
inline ask_pi(t)
{
	if
	:: atomic { pi_used -> EXISTS; pi = (pi_holder == t) }
	:: atomic { !pi_used -> pi = false }
	fi
}

inline lock_drop(t)
{
	GUARD(PI_ASKED_LATE, ask_pi(t);)
	mutex_unlock(0, t, 1);
	BUSTED(PI_ASKED_LATE, ask_pi(t);)
	WHEN(pi, lock_pi_drop(t))
}

active [NR_THREADS] proctype Thread()
{
	byte seen;
	bool pi;

	lock_take(_pid);
	seen = guarded;
	guarded = seen + 1;
	lock_drop(_pid);
	/* All other threads are done, so this one does cond_destroy(). */
	if
	:: seen == NR_THREADS - 1 ->
		GUARD(NO_SETTLE,
			WHEN(pi_used, lock_pi_take(_pid); lock_pi_drop(_pid));)
		gone = true
	:: else
	fi
}

/* lock_use_pi() */
active proctype User_of_pi() { pi_used = true }

JUDGE(for (i : 0 .. NR_THREADS - 1) {
		CHECK(nobody_sleeps, at[i] == AWAKE)
      }
      CHECK(nothing_was_overwritten, guarded == NR_THREADS))
