/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lib/cond/await.c: threads wait with predicates on one condvar. Two callers
 * make a predicate true and signal or broadcast, with the mutex held or after
 * its release.
 *
 * Each waiter waits on a condvar of its own. In this model such a condvar is
 * only a member that joins and is signalled or times out: the model cond has
 * the rest. There are things of two kinds, and a waiter takes the thing for
 * which it has waited. A call evaluates at most one predicate. A caller may
 * leave its signal to any waiter that is on its way, and that is in the list
 * before the waiter that the caller finds. Waiters are in the list in the order
 * of their numbers: a waiter that comes late evaluates its own predicate first,
 * so its place does not matter.
 *
 * @run
 * @run -DTIMED=2
 * @run quick -DNR_WAITERS=2 -DTIMED=0
 * @twin quick NO_OWN_EVALUATION takes_what_is_there: the predicate may be false
 *	again
 * @twin quick SIGNAL_ENDS nobody_true_is_left: a waiter that cannot use the
 *	signal keeps it
 * @twin quick BROADCAST_ENDS nobody_true_is_left: the first waiter hands no
 *	broadcast on
 * @twin quick UNJOINED nobody_true_is_left: a waiter is woken before it sleeps
 * @twin LEFT_ENDS nobody_true_is_left: a waiter keeps what is left to it
 * @twin quick CLEARS_UNLOCKED nobody_true_is_left -DNR_WAITERS=2
 *	-DNR_CALLERS=3: a caller relies on the mark that the waiter clears
 * @twin quick LEAVES_UNLOCKED frame_exists -DTIMED=2: a caller wakes a waiter
 *	that has left
 * @twin quick BOUND_ENDS nobody_true_is_left: waiters beyond the bound are
 *	neither evaluated nor woken
 * @twin quick LEAVER_KEEPS nobody_true_is_left -DNR_WAITERS=2
 *	-DNR_CALLERS=1 -DTIMED=0: a waiter that times out keeps its signal
 */
#ifndef NR_WAITERS
#define NR_WAITERS 3
#endif
#ifndef NR_CALLERS
#define NR_CALLERS 2
#endif
#define MOST_EVALUATED 1
#define NONE 255
#ifndef TIMED
#define TIMED NONE
#endif

#include "guard.inc"

hidden byte nobody_true_is_left, takes_what_is_there, frame_exists, i;

byte there[2];			/* [mutex] things of each kind */
bool mutex_taken, lock_taken;	/* the mutex; the condvar's lock */
bool listed[NR_WAITERS];
byte signals[NR_WAITERS];
bool broadcast[NR_WAITERS];
bool member[NR_WAITERS];	/* of its own condvar */
bool has_joined[NR_WAITERS];	/* for callers: still set after a timeout */
bool signalled[NR_WAITERS];
bool over[NR_WAITERS];

#define wants(w) ((w) == NR_WAITERS - 1)	/* the kind */
#define is_true(w) (there[wants(w)] > 0)
#define comes(w) (signals[w] > 0 || broadcast[w])

inline lock_mutex() { atomic { !mutex_taken -> mutex_taken = true } }
inline lock_cond() { atomic { !lock_taken -> lock_taken = true } }

/* unblock_next(). A caller without the mutex holds the lock meanwhile. */
inline unblock_next(from, all, evaluates, most, more)
{
	at = from; nr_evaluated = 0; nr = 0; coming = NONE;
	do
	:: at < NR_WAITERS && nr < most ->
		atomic {
			found = false;
			if
			:: !listed[at]
			:: listed[at] && comes(at) ->
				found = all; coming = at
			:: listed[at] && !comes(at) && evaluates ->
				found = BUSTED_OR(BOUND_ENDS,
					is_true(at) && nr_evaluated < MOST_EVALUATED,
					is_true(at) || nr_evaluated >= MOST_EVALUATED);
				nr_evaluated++
			:: listed[at] && !comes(at) && !evaluates ->
				found = BUSTED_OR(UNJOINED, true,
						  has_joined[at])
			fi
		}
		if
		:: found ->
			atomic {
				if
				:: coming != NONE && !all -> at = coming
				:: true
				fi;
				CHECK(frame_exists, listed[at]);
				found = !comes(at);
				broadcast[at] = broadcast[at] || all;
				WHEN(!all, signals[at] = signals[at] + more)
			}
			if
			:: found ->
				atomic {
					CHECK(frame_exists, listed[at]);
					has_joined[at] = false;
					WHEN(member[at], member[at] = false;
					     signalled[at] = true)
				}
			:: else
			fi;
			nr++
		:: else
		fi;
		at++
	:: else -> break
	od
}

active [NR_CALLERS] proctype Caller()
{
	byte at, nr_evaluated, nr, coming, most = 1;
	bool found, all, held, kind;

	if :: all = true :: skip fi;
	if :: held = true :: skip fi;
	if :: kind = true :: skip fi;
	if :: all -> most = 2 :: skip fi;

	lock_mutex();
	there[kind]++;
	if
	:: held ->
		unblock_next(0, all, true, most, 1);
		mutex_taken = false
	:: !held ->
		mutex_taken = false;
		lock_cond();
		unblock_next(0, all, false, most, 1);
		lock_taken = false
	fi
}

active [NR_WAITERS] proctype Waiter()
{
	byte at, nr_evaluated, nr, coming, how, used, me = _pid - NR_CALLERS;
	bool found, how_all, timed_out, can;

	lock_mutex();
	can = is_true(me);
	if
	:: can -> goto takes
	:: else
	fi;
	lock_cond();
	listed[me] = true;
	lock_taken = false;
	do
	::	atomic { member[me] = true; has_joined[me] = true };
		mutex_taken = false;
end_waits:
		if
		:: atomic { signalled[me] -> signalled[me] = false }
		:: atomic { me == TIMED && member[me] ->
				member[me] = false; timed_out = true }
		fi;
		lock_mutex();
		can = BUSTED_OR(NO_OWN_EVALUATION, true, is_true(me));
		if
		:: can || timed_out -> break
		:: else
		fi;
		/* awaiter_stays() */
		GUARD(CLEARS_UNLOCKED, lock_cond();)
		atomic {
			how = signals[me]; how_all = broadcast[me];
			signals[me] = 0; broadcast[me] = false
		}
		GUARD(CLEARS_UNLOCKED, lock_taken = false;)
		GUARD(SIGNAL_ENDS,
			WHEN(how > 0 || how_all,
			     unblock_next(me + 1, how_all, true, 1, how)))
	od;
	/* awaiter_leave() */
	used = can;
	GUARD(LEAVES_UNLOCKED, lock_cond();)
	do
	::	atomic {
			how = signals[me]; how_all = broadcast[me];
			signals[me] = 0; broadcast[me] = false;
			WHEN(BUSTED_OR(LEFT_ENDS, can, false) ||
			     BUSTED_OR(LEAVER_KEEPS, !can, false), how = 0)
		}
		if
		:: BUSTED_OR(BROADCAST_ENDS, false, how_all) || how > used ->
			GUARD(LEAVES_UNLOCKED, lock_taken = false;)
			unblock_next(me + 1, how_all, true, 1, how - used);
			used = 0;
			GUARD(LEAVES_UNLOCKED, lock_cond();)
		:: else -> break
		fi
	od;
	listed[me] = false;
	GUARD(LEAVES_UNLOCKED, lock_taken = false;)
takes:
	atomic {
		if
		:: can ->
			CHECK(takes_what_is_there, is_true(me));
			there[wants(me)]--
		:: else
		fi;
		over[me] = true;
		mutex_taken = false
	}
}

JUDGE(for (i : 0 .. NR_WAITERS - 1) {
		CHECK(nobody_true_is_left, over[i] || !is_true(i))
      })
