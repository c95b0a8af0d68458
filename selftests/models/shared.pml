/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Process-shared condvars: lib/cond_shared.c. Two groups in the condvar itself,
 * every step under its lock, waiters that are woken and never moved; destroy
 * waits for all who will still touch the memory. The mutex plays no part.
 *
 * @run
 * @run -DTIMED=true
 * @twin NO_CLOSING return_was_owed: a signalled group goes on to be joined
 * @twin NO_NUMBER nobody_unblocked_is_left: released, and no token for it
 * @twin WAITER_NOT_COUNTED condvar_exists: a released waiter looks at it
 * @twin WAKER_NOT_COUNTED condvar_exists: the signaller counts itself out
 * @twin LAST_DOES_NOT_WAKE invalid_end_state: destroy sleeps on
 * @twin POST_SAME_WORD nobody_unblocked_is_left: asleep after the wake-up
 * @twin LEAVE_WITH_TOKENS somebody_is_blocked -DTIMED=true: though signalled
 */
#define NR_WAITERS	3
#define NR_SIGNALLERS	2
#define NR_THREADS	(NR_WAITERS + 1)
#define NR_GROUPS	2

#ifndef TIMED
#define TIMED false
#endif

/* The one who destroys sleeps on the count, which is another word. */
#define DESTROYER	NR_WAITERS
#define ON_REFS		ON_MUTEX(0)

byte calls = NR_SIGNALLERS;
#define SPEC_EFFECT	calls--; effective = true

#include "futex.inc"
#include "spec.inc"

typedef shared_group {
	byte word, number, blocked, tokens
};

shared_group group[2];
byte refs;
bool opened, destroying, gone;

byte waiters_started, signallers_started;

hidden byte condvar_exists;
hidden byte somebody_is_blocked;
hidden byte nobody_unblocked_is_left;
hidden byte i;

/* Each section under the lock is one step, and begins with this. */
#define LOCKED CHECK(condvar_exists, !gone)

inline put()
{
	refs--;
#ifndef BUSTED_LAST_DOES_NOT_WAKE
	if
	:: destroying -> futex_wake_all(ON_REFS)
	:: else
	fi
#endif
}

#ifdef BUSTED_WAITER_NOT_COUNTED
#define PUT_WAITER	skip
#else
#define PUT_WAITER	put()
#endif
#ifdef BUSTED_WAKER_NOT_COUNTED
#define GET_WAKER	skip
#define PUT_WAKER	skip
#else
#define GET_WAKER	refs++
#define PUT_WAKER	put()
#endif
#ifdef BUSTED_NO_NUMBER
#define IS_RELEASED(g)	false
#else
#define IS_RELEASED(g)	(group[g].number != number)
#endif

/* Asleep on the word, until woken or until time runs out. */
inline shared_futex_wait(t, g)
{
	if
	:: atomic { group[g].word == seen -> at[t] = ON_GROUP(g) }
end_asleep:	if
		:: at[t] == AWAKE
		:: atomic {
			TIMED && at[t] != AWAKE ->
			at[t] = AWAKE;
			leaves = true
		   }
		fi
	:: group[g].word != seen
	fi
}

proctype Waiter(byte t)
{
	byte g, number, seen;
	bool leaves;

	atomic {
		waiters_started == t ->
		waiters_started++;
		LOCKED;
		g = opened;
		group[g].blocked++;
		number = group[g].number;
		seen = group[g].word;
#ifndef BUSTED_WAITER_NOT_COUNTED
		refs++;
#endif
		spec_join(0, t)
	}
	do
	:: shared_futex_wait(t, g);
		atomic {
			LOCKED;
			if
			:: IS_RELEASED(g) ->
				spec_return(0, t);
				PUT_WAITER;
				break
#ifdef BUSTED_LEAVE_WITH_TOKENS
			:: !IS_RELEASED(g) && group[g].tokens && !leaves ->
#else
			:: !IS_RELEASED(g) && group[g].tokens ->
#endif
				group[g].tokens--;
				spec_return(0, t);
				PUT_WAITER;
				break
			:: else ->
				if
				:: leaves ->
					CHECK(somebody_is_blocked,
					      group[g].blocked);
					group[g].blocked--;
					spec_leave(0, t);
					PUT_WAITER;
					break
				:: else -> seen = group[g].word
				fi
			fi
		}
	od
}

inline shared_release(g)
{
	group[g].number++;
	group[g].blocked = 0;
	group[g].tokens = 0;
	group[g].word++
}

/* The end of a release of the groups in @mask, which got a reference. */
inline shared_wake_all(mask)
{
	if
	:: mask & 1 -> atomic { futex_wake_all(ON_GROUP(0)) }
	:: else
	fi;
	if
	:: mask & 2 -> atomic { futex_wake_all(ON_GROUP(1)) }
	:: else
	fi;
	atomic { LOCKED; PUT_WAKER }
}

inline shared_post(g)
{
	group[g].blocked--;
	group[g].tokens++;
#ifndef BUSTED_POST_SAME_WORD
	group[g].word++;
#endif
	GET_WAKER
}

inline shared_signal()
{
	atomic {
		LOCKED;
#ifndef BUSTED_NO_CLOSING
		if
		:: !group[1 - opened].blocked -> opened = 1 - opened
		:: else
		fi;
		g = 1 - opened;
#else
		g = opened;
#endif
		if
		:: group[g].blocked == 0 -> spec_nobody(0); how = 0
		:: group[g].blocked == 1 ->
			spec_signal(0);
			shared_release(g);
			GET_WAKER;
			how = ALL
		:: else ->
			spec_signal(0);
			shared_post(g);
			how = ONE
		fi
	}
	if
	:: how == ALL -> shared_wake_all(1 + g)
	:: how == ONE ->
		atomic { futex_wake_one(ON_GROUP(g)) }
		atomic { LOCKED; PUT_WAKER }
	:: else
	fi
}

inline shared_broadcast()
{
	atomic {
		LOCKED;
		mask = 0;
		if
		:: group[0].blocked -> shared_release(0); mask = 1
		:: else
		fi;
		if
		:: group[1].blocked -> shared_release(1); mask = mask + 2
		:: else
		fi;
		spec_broadcast(0);
		if
		:: mask -> GET_WAKER
		:: else
		fi
	}
	if
	:: mask -> shared_wake_all(mask)
	:: else
	fi
}

proctype Signaller(byte s)
{
	byte g, how, mask;
	bool effective;

	atomic { signallers_started == s -> signallers_started++ }
	if
	:: shared_signal()
	:: shared_broadcast()
	fi;
	if
	:: effective
	:: else -> calls--
	fi
}

/* Destroys as soon as that is legal; see destroy.pml. */
proctype Destroyer()
{
	byte seen;

end_early:
	waiters_started == NR_WAITERS && !calls && SPEC_ALL_UNBLOCKED(0);
	do
	:: atomic { !refs -> gone = true; break }
	:: atomic { refs -> destroying = true; seen = refs }
		if
		:: atomic { refs == seen -> at[DESTROYER] = ON_REFS }
			at[DESTROYER] == AWAKE
		:: refs != seen
		fi
	od
}

init
{
	atomic {
		i = 0;
		do
		:: i < NR_WAITERS -> run Waiter(i); i++
		:: else -> break
		od;
		run Signaller(0);
		run Signaller(1);
		run Destroyer();
		i = 0
	}
	atomic {
		timeout ->
		CHECK(nobody_unblocked_is_left, !spec_free && !spec_nr_owed[0])
	}
}
