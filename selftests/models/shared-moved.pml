/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Process-shared condvars of which the broadcaster and the destroyer know the
 * mutex: drover_cond_broadcast_on() and drover_cond_destroy_on(), with and
 * without the mutex held.
 *
 * @run -DNR_SIGNALLERS=1
 * @run -DNR_SIGNALLERS=1 -DDESTROYS
 * @twin quick NO_MARK nobody_unblocked_is_left -DNR_SIGNALLERS=1: those behind it
 *	are forgotten
 * @twin quick NO_SET_CONTENDED nobody_unblocked_is_left -DNR_SIGNALLERS=1: the
 *	unlock wakes nobody
 * @twin quick CHANGED_IS_DONE nobody_unblocked_is_left -DNR_SIGNALLERS=1: EAGAIN
 *	taken for "all moved"
 * @twin quick DESTROY_WAKES_NOBODY nobody_unblocked_is_left -DNR_SIGNALLERS=1
 *	-DDESTROYS: all wait for its mutex
 * @twin quick COUNT_OUT_LATE nobody_sleeps_on_a_mutex -DNR_SIGNALLERS=1
 *	-DDESTROYS: which destroy has
 */
#define NR_WAITERS	3
#ifndef NR_SIGNALLERS
#define NR_SIGNALLERS	2
#endif
#define NR_THREADS	(NR_WAITERS + 1)
#define NR_GROUPS	2
#define MOVES

#ifdef DESTROYS
byte calls = NR_SIGNALLERS;
#define SPEC_EFFECT	calls--; effective = true
#define SPEC_BROADCAST_EFFECT skip
#endif

#include "futex.inc"
#include "spec.inc"

#define MY_TURN(t)	(waiters_started == t && mutex_word[0] == FREE)
#define MORE_LOCALS	; byte plan; bool same, effective

/* How to move, the decision of one broadcast: any plan that is safe. */
#define PLAN_WAKE_ALL	0
#define PLAN_WAKE_ONE	1
#define PLAN_WAKE_NONE	2

#define NOT_MOVED	BUSTED_OR(CHANGED_IS_DONE, 0, ALL)

/* Those who have loaded the word since. */
#define WAKER(s)	BIT(NR_WAITERS + (s))
#define LOAD_WORDS(s)							\
	atomic {							\
		SOME_BLOCKED && !MUST_HELP ->				\
		fresh[0] = fresh[0] | WAKER(s);				\
		fresh[1] = fresh[1] | WAKER(s)				\
	}
#define VIEW		true
#define SAME_WORD(i, s)	(fresh[i] & WAKER(s))

#define WHOM_TO_WAKE	skip
#define MOVE_THEM(s)							\
	if								\
	:: old -> shared_move(1, s); shared_move(0, s)			\
	:: !old -> shared_move(0, s); shared_move(1, s)			\
	fi;								\
	atomic { seen = 0; old = 0; plan = 0 }

#include "shared.inc"

inline shared_move(i, s)
{
	if
	:: atomic {
		seen & (1 << i) && plan && SAME_WORD(i, s) ->
		TOUCH;
		fresh[i] = WAKER(s)
	   }
	   atomic {
		if
		:: SAME_WORD(i, s) ->
			same = (at[0] == ON_GROUP(i) || at[1] == ON_GROUP(i) ||
				at[2] == ON_GROUP(i));
			if
			:: plan == PLAN_WAKE_ONE -> futex_wake_one(ON_GROUP(i))
			:: else
			fi;
			futex_move(ON_GROUP(i), 0, ALL);
			/* One is enough for both groups. */
			plan = (same -> PLAN_WAKE_NONE : plan);
			same = false
		:: else -> nr[i] = NOT_MOVED
		fi
	   }
	:: atomic {
		seen & (1 << i) && !(plan && SAME_WORD(i, s)) ->
		nr[i] = ALL
	   }
	:: !(seen & (1 << i))
	fi
}

hidden byte nobody_sleeps_on_a_mutex;

#define RELOCK_AS \
	BUSTED_OR(NO_MARK, HELD, (was_moved -> CONTENDED : HELD))

proctype Waiter(byte t)
{
	MEMBER_LOCALS;

	shared_join(t);
	shared_sleep(t);
out:
	BUSTED_OR(COUNT_OUT_LATE,
		atomic { was_moved = moved }
		mutex_lock(0, t, RELOCK_AS);
		shared_leave(t);,
		shared_leave(t);
		mutex_lock(0, t, RELOCK_AS);)
	mutex_unlock(0, t, 0)
}

/* Within an atomic block: the mutex is the caller's, or not. */
inline shared_plan(holds)
{
	if
	:: plan = PLAN_WAKE_ALL
	:: plan = PLAN_WAKE_ONE; moved = true
	:: holds ->
		plan = PLAN_WAKE_NONE;
		moved = true;
		GUARD(NO_SET_CONTENDED, mutex_word[0] = CONTENDED)
	fi
}

/* The first one holds the mutex, the second does not. */
#define SIGNALLER	DESTROYER
proctype Signaller(byte s)
{
	WAKER_LOCALS;

	if
	:: atomic {
		!s && mutex_word[0] == FREE ->
		mutex_take(0, SIGNALLER, HELD);
		shared_plan(true)
	   }
	   shared_broadcast(s)
	:: s -> shared_signal()
	:: atomic { s -> shared_plan(false) }
	   shared_broadcast(s)
	fi;
out:
#ifdef DESTROYS
	if
	:: effective -> effective = false
	:: else -> calls--
	fi;
#endif
	if
	:: !s -> mutex_unlock(0, SIGNALLER, 0)
	:: s
	fi
}

#ifdef DESTROYS
/* With the mutex held throughout. */
proctype Destroyer()
{
	byte seen;

end_early:
	atomic {
		joined == ALL_WAITERS && !calls &&
		SPEC_ALL_UNBLOCKED(0) && mutex_word[0] == FREE ->
		mutex_take(0, DESTROYER, HELD)
	}
	GUARD(DESTROY_WAKES_NOBODY, atomic { futex_wake_all(ON_MUTEX(0)) })
	shared_destroy(false);
	mutex_unlock(0, DESTROYER, 0)
}
#endif

init
{
	atomic {
		mutex_users[0] = 1;
		run_shared()
	}
	atomic {
		timeout ->
		CHECK(nobody_unblocked_is_left,
		      !spec_free && !spec_nr_owed[0]);
		i = 0;
		do
		:: i < NR_WAITERS ->
			CHECK(nobody_sleeps_on_a_mutex, at[i] != ON_MUTEX(0));
			i++
		:: else -> break
		od
	}
}
