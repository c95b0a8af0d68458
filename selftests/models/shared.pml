/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Process-shared condvars whose waiters are woken and not moved. The models
 * have no mutex:
 *
 * @model shared
 * @run
 * @run -DNR_WAITERS=2 -DTIMED=true
 * @run quick -DNR_WAITERS=2 -DDESTROYS
 * @run -DNR_WAITERS=2 -DENDS
 * @twin quick JOIN_WITH_TOKENS return_was_owed: a newcomer joins a signalled
 *	group
 * @twin quick BROADCAST_IN_TWO return_was_owed: the two groups are released one
 *	after the other
 * @twin quick ANY_KIND nobody_unblocked_is_left: a signal wakes a later waiter
 * @twin quick NO_NUMBER nobody_unblocked_is_left: a released member waits for a
 *	token
 * @twin quick WORD_LOADED_LATE nobody_unblocked_is_left: the word is loaded
 *	after the state
 * @twin quick POST_SAME_WORD nobody_unblocked_is_left: a waiter falls asleep
 *	after the wake-up
 * @twin quick LEAVE_WITH_TOKENS somebody_is_blocked -DTIMED=true: a waiter
 *	leaves although it was signalled
 * @twin quick WAITER_NOT_COUNTED condvar_exists -DNR_WAITERS=2 -DDESTROYS: a
 *	released waiter reads the condvar
 * @twin quick WAKER_NOT_COUNTED condvar_exists -DNR_WAITERS=2 -DDESTROYS: the
 *	signaller reads the condvar
 * @twin LAST_DOES_NOT_WAKE invalid_end_state -DNR_WAITERS=2 -DDESTROYS:
 *	destroy sleeps on
 * @twin END_TAKES no_signal_was_consumed_by_leaving -DENDS: the thread takes
 *	the signal with it
 * @twin END_WAKES_NOBODY nobody_unblocked_is_left -DENDS: the token stays, and
 *	no waiter is woken for it
 *
 * Process-shared condvars whose broadcaster and destroyer know the mutex, and
 * hold it or not: drover_cond_broadcast_on() and drover_cond_destroy_on():
 *
 * @model shared-moved -DMOVES
 * @run
 * @run -DDESTROYS
 * @twin quick NO_MARK nobody_unblocked_is_left: the waiters behind a moved one
 *	are forgotten
 * @twin CHANGED_IS_DONE nobody_unblocked_is_left: EAGAIN is taken for "all
 *	moved"
 * @twin JOIN_SAME_WORD nobody_sleeps_on_a_mutex: a waiter is moved that came
 *	later
 * @twin quick DESTROY_WAKES_NOBODY nobody_unblocked_is_left -DDESTROYS: moved
 *	waiters wait for the mutex, which the destroyer holds
 * @twin DESTROY_WAKES_ONCE nobody_unblocked_is_left -DDESTROYS: another thread
 *	moves waiters later
 * @twin quick COUNT_OUT_LATE nobody_sleeps_on_a_mutex -DDESTROYS: a waiter
 *	counts itself out only when it has the mutex
 *
 * One process is killed, at any step. The steps that it has done stay done, and
 * the others never come. If a survivor broadcasts, all survivors return, and
 * destroy ends, because it takes a silent process for dead. If two survivors
 * signal instead, the dead process takes at most one of the signals with it:
 *
 * @model shared-killed -DKILLED -DDESTROYS
 * @run
 * @run quick -DSIGNALS_ONLY
 * @run quick -DNR_WAITERS=2 -DENDS
 * @twin LATER_OVERLOOKED survivors_return: a waker is killed before its wake-up
 * @twin quick END_COUNTS_LATE survivors_return -DNR_WAITERS=2 -DENDS: a thread
 *	that ends is killed before its wake-up
 * @twin quick DESTROY_IS_PATIENT invalid_end_state: destroy waits for a dead
 *	process
 * @twin quick POST_SAME_WORD dead_take_one_signal -DSIGNALS_ONLY: two signals
 *	are lost without a dead process
 */
#ifndef NR_WAITERS
#define NR_WAITERS	3
#endif
#ifndef NR_SIGNALLERS
#define NR_SIGNALLERS	2
#endif
#define NR_THREADS	(NR_WAITERS + 1)
#define NR_GROUPS	2

#include "futex.inc"

#ifdef DESTROYS
byte calls = NR_SIGNALLERS;
#endif

#ifdef KILLED
/* After a death any waiter may return, so spec.inc is not used. */
#define BIT(t)				(1 << (t))
#define spec_join(c, t)			skip
#define spec_return(c, t)		skip
#define spec_leave(c, t)		skip
#define spec_signal(c)			skip
#define spec_broadcast(c)		skip
#define spec_nobody(c)			skip
#define SPEC_EFFECT			skip

bool may_die = true;
byte living;		/* how many users survive */
byte dead;		/* a set of at most one waiter */
byte returned;		/* how many waiters have returned */
hidden byte no_signal_was_consumed_by_leaving;

/* Where a process may be killed: one more choice of an "if". */
#define MORE_LOCALS	; bool survives; byte counted
#define LIVING(change)	living change; counted change
#define OR_KILLED \
	:: atomic { may_die && !survives -> may_die = false; goto killed }
#define OR_KILLED_ASLEEP OR_KILLED
/* Destroy has waited long enough for living users to count themselves out. */
#define NOBODY_COMES	BUSTED_OR(DESTROY_IS_PATIENT, false, (living == 0))
#else
#define MORE_LOCALS	MOVER_LOCALS; bool effective
#define OR_KILLED
#define OR_KILLED_ASLEEP
#define LIVING(change)	skip
#define NOBODY_COMES	false
#ifdef DESTROYS
#define SPEC_EFFECT	calls--; effective = true
#endif
#include "spec.inc"
#endif

#ifdef MOVES
#define MOVER_LOCALS	; byte plan
#define MY_TURN(t)	(waiters_started == t && mutex_word[0] == FREE)
#else
#define MOVER_LOCALS
#define MY_TURN(t)	(waiters_started == t)
#endif

#include "shared.inc"

hidden byte survivors_return, dead_take_one_signal, nobody_sleeps_on_a_mutex;

active [NR_WAITERS] proctype Waiter()
{
	MEMBER_LOCALS;

#ifdef KILLED
	waiters_started == _pid;
#endif
	shared_join(_pid);
	shared_sleep(_pid);
#ifdef ENDS
ended:	shared_ended(_pid);
#endif
out:
#ifdef MOVES
	BUSTED(COUNT_OUT_LATE,
		atomic { was_moved = moved }
		mutex_lock(0, _pid, RELOCK_AS);)
	shared_leave(_pid);
	GUARD(COUNT_OUT_LATE, mutex_lock(0, _pid, RELOCK_AS);)
	mutex_unlock(0, _pid, 0)
#else
	shared_leave(_pid);
#endif
#ifdef KILLED
	atomic { returned++; goto end }
killed:	atomic {
		living = living - counted;
		at[_pid] = AWAKE;
		dead = dead | BIT(_pid);
		waiters_started =
			waiters_started + (waiters_started == _pid -> 1 : 0)
	}
#endif
end:	skip
}

/*
 * The first of two signallers that move holds the mutex, and the second does
 * not. If one is killed, the last one survives, and calls when all waiters have
 * come.
 */
#define SIGNALLER	DESTROYER
#ifdef SIGNALS_ONLY
#define SURVIVES(s)	true
#define RESCUES(s)	shared_signal()
#else
#define SURVIVES(s)	(s == NR_SIGNALLERS - 1)
#define RESCUES(s)	shared_broadcast(s)
#endif

active [NR_SIGNALLERS] proctype Signaller()
{
	WAKER_LOCALS;
	byte s = _pid - NR_WAITERS;

#if defined(KILLED)
	survives = SURVIVES(s);
	if
	:: survives && (joined | dead) == ALL_WAITERS -> RESCUES(s)
	:: !survives -> shared_signal()
	:: !survives -> shared_broadcast(s)
	fi;
#elif defined(MOVES)
	if
	:: s -> shared_signal()
	:: atomic {
		s || mutex_word[0] == FREE ->
		WHEN(!s, mutex_take(0, SIGNALLER, HELD));
		moved = true;
		if
		:: plan = PLAN_WAKE_ALL
		:: plan = PLAN_WAKE_ONE
		fi
	   }
	   shared_broadcast(s)
	fi;
#else
	atomic { signallers_started == s -> signallers_started++ }
	if
	:: shared_signal()
	:: shared_broadcast(s)
	fi;
#endif
out:
#if defined(KILLED)
	atomic { calls--; goto end }
killed:	atomic { living = living - counted; calls-- }
#elif defined(DESTROYS)
	if
	:: effective -> effective = false
	:: else -> calls--
	fi;
#endif
#ifdef MOVES
	WHEN(!s, mutex_unlock(0, SIGNALLER, 0));
#endif
end:	skip
}

#if defined(DESTROYS) && !defined(SIGNALS_ONLY)
/*
 * Destroy as soon as that is legal; see the model destroy of cond.pml. The
 * destroyer of MOVES holds the mutex all the time.
 */
active proctype Destroyer()
{
	byte seen, wakers;

end_early:
#if defined(KILLED)
	!calls;
#elif defined(MOVES)
	atomic {
		joined == ALL_WAITERS && !calls &&
		SPEC_ALL_UNBLOCKED(0) && mutex_word[0] == FREE ->
		mutex_take(0, DESTROYER, HELD)
	}
#else
	joined == ALL_WAITERS && !calls && SPEC_ALL_UNBLOCKED(0);
#endif
	shared_destroy(NOBODY_COMES);
#ifdef MOVES
	mutex_unlock(0, DESTROYER, 0)
#endif
}
#endif

active proctype Judge()
{
	atomic {
		timeout ->
#if defined(SIGNALS_ONLY)
		CHECK(dead_take_one_signal,
		      returned + (dead != 0) >= NR_SIGNALLERS)
#elif defined(KILLED)
		CHECK(survivors_return, returned + (dead != 0) == NR_WAITERS)
#else
		CHECK(nobody_unblocked_is_left,
		      !spec_free && !spec_nr_owed[0]);
		for (i : 0 .. NR_WAITERS - 1) {
			CHECK(nobody_sleeps_on_a_mutex, at[i] != ON_MUTEX(0))
		}
#endif
	}
}
