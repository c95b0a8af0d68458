/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Process-shared condvars of which the broadcaster and the destroyer know the
 * mutex: drover_cond_broadcast_on() and drover_cond_destroy_on(), with and
 * without the mutex held. With KICKS somebody changes the word of a group at
 * any moment, as a cancellation does.
 *
 * @run
 * @run long -DKICKS
 * @twin MOVE_UNLOCKED nobody_sleeps_on_a_mutex: new members are moved, too
 * @twin NO_MARK nobody_sleeps_on_a_mutex: those behind it are forgotten
 * @twin NO_SET_CONTENDED nobody_unblocked_is_left: the unlock wakes nobody
 * @twin CHANGED_IS_DONE nobody_unblocked_is_left -DKICKS: EAGAIN taken for "all
 *	moved"
 * @twin DESTROY_WAKES_NOBODY nobody_unblocked_is_left: all wait for its mutex
 * @twin COUNT_OUT_LATE nobody_sleeps_on_a_mutex: which destroy has
 */
#define NR_WAITERS	3
#define NR_SIGNALLERS	2
#define NR_THREADS	(NR_WAITERS + 1)
#define NR_GROUPS	2

byte calls = NR_SIGNALLERS;
#define SPEC_EFFECT	calls--; effective = true

#include "futex.inc"
#include "spec.inc"

/* How to move, the decision of one broadcast: any plan that is safe. */
#define PLAN_WAKE_ALL	0
#define PLAN_WAKE_ONE	1
#define PLAN_WAKE_NONE	2

#ifdef BUSTED_CHANGED_IS_DONE
#define NOT_MOVED	0
#else
#define NOT_MOVED	ALL
#endif

/* Another thread, without the lock, may have changed the word: EAGAIN. */
#define MOVE_NOW(g)							\
	if								\
	:: plan == PLAN_WAKE_ONE -> futex_wake_one(ON_GROUP(g))		\
	:: else								\
	fi;								\
	futex_move_all(ON_GROUP(g), 0)

#ifdef BUSTED_MOVE_UNLOCKED
#define SHARED_MOVE(g)							\
	if								\
	:: plan -> group[g].moved = true; late = late | 1 << g		\
	:: !plan -> nr[g] = ALL						\
	fi
#else
#define SHARED_MOVE(g)							\
	if								\
	:: plan -> group[g].moved = true; MOVE_NOW(g)			\
	:: plan && may_kick ->						\
		group[g].moved = true;					\
		nr[g] = NOT_MOVED					\
	:: !plan -> nr[g] = ALL						\
	fi
#endif

#ifdef KICKS
bool may_kick = true;
#else
#define may_kick false
#endif

#include "shared.inc"

hidden byte nobody_sleeps_on_a_mutex;

#ifdef BUSTED_NO_MARK
#define RELOCK_AS	HELD
#else
#define RELOCK_AS	(was_moved -> CONTENDED : HELD)
#endif

proctype Waiter(byte t)
{
	SHARED_LOCALS;

	atomic {
		waiters_started == t && mutex_word[0] == FREE ->
		waiters_started++;
		shared_join(t)
	}
	do
	:: shared_futex_wait(t);
		atomic { shared_look(t) }
	od;
	mutex_lock(0, t, RELOCK_AS);
#ifdef BUSTED_COUNT_OUT_LATE
	atomic { LOCKED; PUT_WAITER }
#endif
	mutex_unlock(0, t, 0)
}

/* Within an atomic block: the mutex is the caller's, or not. */
inline shared_plan(holds)
{
	if
	:: plan = PLAN_WAKE_ALL
	:: plan = PLAN_WAKE_ONE
	:: holds ->
		plan = PLAN_WAKE_NONE;
#ifndef BUSTED_NO_SET_CONTENDED
		mutex_word[0] = CONTENDED
#endif
	fi
}

inline signal_or_broadcast(s, holds)
{
	if
	:: atomic { shared_signal_section() }
	:: atomic { shared_plan(holds); shared_broadcast_section() }
#ifdef BUSTED_MOVE_UNLOCKED
		if
		:: atomic { late & 1 -> MOVE_NOW(0) }
		:: !(late & 1)
		fi;
		if
		:: atomic { late & 2 -> MOVE_NOW(1) }
		:: !(late & 2)
		fi
#endif
	fi;
	if
	:: effective
	:: else -> calls--
	fi;
	if
	:: wakes -> shared_wake()
	:: else
	fi
}

/* The first one holds the mutex, the second does not. */
#define SIGNALLER	DESTROYER
proctype Signaller(byte s)
{
	WAKER_LOCALS;
	bool effective, wakes;
	byte plan, late;

	if
	:: atomic {
		!s && mutex_word[0] == FREE ->
		mutex_take(0, SIGNALLER, HELD)
	   }
		signal_or_broadcast(s, true);
		mutex_unlock(0, SIGNALLER, 0)
	:: s -> signal_or_broadcast(s, false)
	fi
}

/* With the mutex held throughout. */
proctype Destroyer()
{
	byte seen;

end_early:
	atomic {
		waiters_started == NR_WAITERS && !calls &&
		SPEC_ALL_UNBLOCKED(0) && mutex_word[0] == FREE ->
		mutex_take(0, DESTROYER, HELD)
	}
#ifndef BUSTED_DESTROY_WAKES_NOBODY
	atomic { futex_wake_all(ON_MUTEX(0)) }
#endif
	shared_destroy(false);
	mutex_unlock(0, DESTROYER, 0)
}

#ifdef KICKS
proctype Kicker()
{
	byte g;

	atomic { select(g : 0 .. 1) }
end_kicker:
	atomic { !gone -> group[g].word++; may_kick = false }
	atomic { futex_wake_all(ON_GROUP(g)) }
}
#endif

init
{
	atomic {
		mutex_users[0] = 1;
#ifdef KICKS
		run Kicker();
#endif
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
