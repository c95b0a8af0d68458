/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Joining others without the condvar's lock: cond_join_open() of
 * lib/cond/wait.c. The thread has the mutex, reads which group is open, pins it,
 * and joins it if its state says so; meanwhile the group may be closed, claimed,
 * used up, or in its next life. Or it takes the lock, under which it makes a
 * group before it says so. The time of the first may run out, and it or another
 * one waits once more, on the other condvar if there are two.
 *
 * @run
 * @run -DNR_MUTEXES=2
 * @run -DNR_CONDS=2
 * @run -DWATCHES -DNR_WAITERS=2
 * @twin JOIN_CLAIMED return_was_owed: freed by the broadcast before it
 * @twin JOIN_WITH_TOKENS return_was_owed: takes the signal before it
 * @twin JOIN_USED_UP no_signal_was_lost: no signal goes to that group any more
 * @twin JOIN_UNPINNED no_signal_was_lost: its group is recycled under it
 * @twin JOIN_ANY_MUTEX no_signal_was_lost -DNR_MUTEXES=2: before it is open
 * @twin NO_OWNER_CHECK return_was_owed -DNR_CONDS=2: the other condvar's
 * @twin JOIN_AWAKE who_is_awake_is_alone -DWATCHES -DNR_WAITERS=2: it sleeps
 */
#ifndef NR_WAITERS
#define NR_WAITERS	3
#endif
#ifndef NR_CONDS
#define NR_CONDS	1
#endif
#ifndef NR_MUTEXES
#define NR_MUTEXES	1
#endif
#define NR_SIGNALLERS	2
#define NR_THREADS	(NR_WAITERS + NR_SIGNALLERS)
#define NR_GROUPS	(2 + NR_CONDS)

#include "futex.inc"
#include "spec.inc"
#include "group.inc"
#include "wait.inc"
#include "release.inc"
#include "signal.inc"
#include "program.inc"

byte waits_again = 1;

#ifdef BUSTED_JOIN_CLAIMED
#define NOT_CLAIMED(g)	true
#else
#define NOT_CLAIMED(g)	(!(low[g] & CLAIMED))
#endif
#ifdef BUSTED_JOIN_WITH_TOKENS
#define NO_TOKENS(g)	true
#else
#define NO_TOKENS(g)	(!(low[g] & TOKENS))
#endif
#ifdef BUSTED_JOIN_USED_UP
#define NOT_USED_UP(g)	(!(low[g] & RELEASED))
#else
#define NOT_USED_UP(g)	(blocked[g] > 0)
#endif
#ifdef BUSTED_JOIN_AWAKE
#define NOT_AWAKE(g)	true
#else
#define NOT_AWAKE(g)	(!(low[g] & AWAKE_ALONE))
#endif
#ifdef BUSTED_JOIN_ANY_MUTEX
#define OUR_MUTEX(g, m)	true
#else
#define OUR_MUTEX(g, m)	(members_mutex[g] == 1 + (m))
#endif

/* group_join_open(): its compare-and-swap, of which a group is @pinned. */
#define MAY_JOIN(g, m)							\
	(OUR_MUTEX(g, m) && NOT_CLAIMED(g) && NO_TOKENS(g) &&		\
	 NOT_USED_UP(g) && NOT_AWAKE(g))

#ifdef BUSTED_JOIN_UNPINNED
#define PIN(g)		skip
#define UNPIN(g)	skip
#else
#define PIN(g)		refs[g]++
#define UNPIN(g)	group_unpin(g)
#endif

/* The lock, held for two steps: a group is made, and then open. */
inline join_locked(c, t, m)
{
	if
	:: atomic {
		!cond_lock[c] && IS_ALIVE(cond_open[c]) &&
		IS_OWN(cond_open[c], c) ->
		cond_join(c, t, m)
	   }
	:: atomic {
		!cond_lock[c] && !(IS_ALIVE(cond_open[c]) &&
				   IS_OWN(cond_open[c], c)) ->
		cond_lock[c] = 1;
		group_new(g, c, m)
	   }
	   atomic {
		if
		:: cond_closed[c] == 1 + g -> cond_closed[c] = 0
		:: else
		fi;
		cond_open[c] = 1 + g;
		cond_lock[c] = 0;
		SET_OWN_MUTEX(t, m);
		spec_join(c, t)
	   }
	fi
}

/* With the mutex held, which is released at the end. @g: 1 + the open group. */
inline join(c, t, m)
{
	if
	:: atomic {
		IS_ALIVE(g) && IS_OWN(g, c) ->
		PIN(g - 1);
		g--
	   }
	   if
	   :: atomic {
		MAY_JOIN(g, m) ->
		blocked[g]++;
		SET_OWN_MUTEX(t, m);
		spec_join(c, t)
	      }
#ifdef BUSTED_JOIN_UNPINNED
	      atomic { refs[g]++ }
#endif
	   :: atomic {
		!MAY_JOIN(g, m) ->
		UNPIN(g);
		g = 0
	      }
	      join_locked(c, t, m)
	   fi
	:: atomic { g = 0 }
		join_locked(c, t, m)
	fi;
	mutex_unlock(m, t, 0)
}

inline lock_and_look(c, t, m)
{
	mutex_take(m, t, HELD);
	g = cond_open[c]
}

#define MUTEX(t)	((t) % NR_MUTEXES)
#define COND(t)		((t) % NR_CONDS)

proctype Waiter(byte t)
{
	WAITER_LOCALS;

	atomic {
		waiters_started == t && mutex_word[MUTEX(t)] == FREE ->
		waiters_started++;
		lock_and_look(COND(t), t, MUTEX(t))
	}
	join(COND(t), t, MUTEX(t));
	cond_wait_and_unlock(COND(t), t, MUTEX(t), t == 0, 0);
	if
	:: atomic {
		waits_again && mutex_word[MUTEX(t)] == FREE ->
		waits_again--;
		left = false;
		lock_and_look(COND(t + 1), t, MUTEX(t))
	   }
		join(COND(t + 1), t, MUTEX(t));
		cond_wait_and_unlock(COND(t + 1), t, MUTEX(t), false, 0)
	:: skip
	fi
}

/* All without the mutex: it would only keep them from what is shown here. */
proctype Signaller(byte t)
{
	SIGNALLER_LOCALS;

	atomic {
		signallers_started == t - NR_WAITERS ->
		signallers_started++
	}
	SIGNAL_OR_BROADCAST(COND(t), t)
}

init
{
	atomic {
		run_waiters_and_signallers();
		mutex_users[0] = NR_THREADS;
#if NR_MUTEXES > 1
		mutex_users[1] = NR_THREADS
#endif
	}
	quiescence()
}
