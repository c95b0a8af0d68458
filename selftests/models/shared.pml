/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Process-shared condvars whose waiters are woken and not moved. The mutex plays
 * no part:
 *
 * @model shared
 * @run
 * @run -DNR_WAITERS=2 -DTIMED=true
 * @run quick -DNR_WAITERS=2 -DDESTROYS
 * @run -DNR_WAITERS=2 -DENDS
 * @twin quick JOIN_WITH_TOKENS return_was_owed: a signalled group is joined
 * @twin quick BROADCAST_IN_TWO return_was_owed: one group after the other
 * @twin quick ANY_KIND nobody_unblocked_is_left: wakes one who came later
 * @twin quick NO_NUMBER nobody_unblocked_is_left: released, and no token for it
 * @twin quick WORD_LOADED_LATE nobody_unblocked_is_left: after the state
 * @twin quick POST_SAME_WORD nobody_unblocked_is_left: asleep after the wake-up
 * @twin quick LEAVE_WITH_TOKENS somebody_is_blocked -DTIMED=true: signalled
 * @twin quick WAITER_NOT_COUNTED condvar_exists -DNR_WAITERS=2 -DDESTROYS: a
 *	released waiter looks at it
 * @twin quick WAKER_NOT_COUNTED condvar_exists -DNR_WAITERS=2 -DDESTROYS: the
 *	signaller counts itself out
 * @twin LAST_DOES_NOT_WAKE invalid_end_state -DNR_WAITERS=2 -DDESTROYS:
 *	destroy sleeps on
 * @twin END_TAKES no_signal_was_consumed_by_leaving -DENDS: as by timeout
 * @twin END_WAKES_NOBODY nobody_unblocked_is_left -DENDS: with the token there
 *
 * Those whose broadcaster and destroyer know the mutex, and hold it or not:
 * drover_cond_broadcast_on() and drover_cond_destroy_on():
 *
 * @model shared-moved -DMOVES
 * @run
 * @run -DDESTROYS
 * @twin quick NO_MARK nobody_unblocked_is_left: those behind it are forgotten
 * @twin CHANGED_IS_DONE nobody_unblocked_is_left: EAGAIN is not "done"
 * @twin JOIN_SAME_WORD nobody_sleeps_on_a_mutex: moved, though it came
 *	later
 * @twin quick DESTROY_WAKES_NOBODY nobody_unblocked_is_left -DDESTROYS: all
 *	wait for its mutex
 * @twin DESTROY_WAKES_ONCE nobody_unblocked_is_left -DDESTROYS: another moves
 *	later
 * @twin quick COUNT_OUT_LATE nobody_sleeps_on_a_mutex -DDESTROYS: behind it
 *
 * One process is killed, at any step: what it has done so far stays, and the
 * rest never comes. If a survivor broadcasts, all survivors return, and destroy
 * ends, which knows the dead by their silence. If two survivors signal instead,
 * the dead one takes at most one of the signals with it:
 *
 * @model shared-killed -DKILLED -DDESTROYS
 * @run
 * @run quick -DSIGNALS_ONLY
 * @run quick -DNR_WAITERS=2 -DENDS
 * @twin LATER_OVERLOOKED survivors_return: killed before it woke
 * @twin quick END_COUNTS_LATE survivors_return -DNR_WAITERS=2 -DENDS: it ended
 * @twin quick DESTROY_IS_PATIENT invalid_end_state: waits for a dead one
 * @twin quick POST_SAME_WORD dead_take_one_signal -DSIGNALS_ONLY: with nobody
 *	dead
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
/* After a death anybody may return: spec.inc has nothing to say. */
#define BIT(t)				(1 << (t))
#define spec_join(c, t)			skip
#define spec_return(c, t)		skip
#define spec_leave(c, t)		skip
#define spec_signal(c)			skip
#define spec_broadcast(c)		skip
#define spec_nobody(c)			skip
#define SPEC_EFFECT			skip

bool may_die = true;
byte living;		/* those of the users that survive */
byte dead;		/* a set of waiters, of one at most */
byte returned;		/* how many waiters */
hidden byte no_signal_was_consumed_by_leaving;

/* Where a process may be killed: one more choice of an "if". */
#define MORE_LOCALS	; bool survives; byte counted
#define LIVING(change)	living change; counted change
#define OR_KILLED \
	:: atomic { may_die && !survives -> may_die = false; goto killed }
#define OR_KILLED_ASLEEP OR_KILLED
/* The time is over for living ones to count themselves out. */
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
 * Of those who move the first one holds the mutex, the second does not. If one
 * is killed the last one survives, and calls when all waiters have come.
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
/* As soon as that is legal; see destroy of cond.pml. With the mutex throughout. */
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
