/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Process-shared condvars when one process is killed, at any moment: asleep,
 * before it wakes whom it has unblocked, or half-way through a section under
 * the lock, with any part of what it would have written. Who takes the lock
 * next is told, and releases everybody.
 *
 * If a survivor broadcasts, all survivors return, and destroy ends, which knows
 * the dead by their silence. If two survivors signal instead, the dead one
 * takes at most one of the signals with it.
 *
 * @run
 * @run quick -DSIGNALS_ONLY
 * @twin NO_RECOVERY survivors_return: counted by halves
 * @twin RECOVERY_WAKES_NOBODY survivors_return: free, and asleep
 * @twin WAKERS_OVERLOOKED survivors_return: a waker was killed before it woke
 * @twin UNCOUNTED_BLINDLY wakers_are_counted: the recovery has counted them out
 * @twin DESTROY_IS_PATIENT invalid_end_state: waits for a dead one
 * @twin POST_SAME_WORD dead_take_one_signal -DSIGNALS_ONLY: with nobody dead
 */
#define NR_WAITERS	3
#define NR_SIGNALLERS	2
#define NR_THREADS	(NR_WAITERS + 1)
#define NR_GROUPS	2

/* After a death anybody may return: spec.inc has nothing to say. */
#define spec_join(c, t)		skip
#define spec_return(c, t)	skip
#define spec_leave(c, t)	skip
#define spec_signal(c)		skip
#define spec_broadcast(c)	skip
#define spec_nobody(c)		skip

bool may_die = true;
bool lock_is_dead;
byte living_refs;	/* those of @refs that survivors have */
byte dead, returned;	/* sets of waiters */
byte calls = NR_SIGNALLERS;

#define BIT(t)		(1 << (t))
#define ALL_WAITERS	(BIT(NR_WAITERS) - 1)
#define GET		refs++; living_refs++
#define PUT		refs--; living_refs--

#ifdef BUSTED_NO_RECOVERY
#define RECOVER		skip
#elif defined(BUSTED_RECOVERY_WAKES_NOBODY)
#define RECOVER								\
	shared_release(0);						\
	shared_release(1);						\
	group[0].wakers = 0;						\
	group[1].wakers = 0
#else
#define RECOVER								\
	shared_release(0);						\
	shared_release(1);						\
	futex_wake_all(ON_GROUP(0));					\
	futex_wake_all(ON_GROUP(1));					\
	group[0].wakers = 0;						\
	group[1].wakers = 0
#endif

#define LOCKED								\
	CHECK(condvar_exists, !gone);					\
	if								\
	:: lock_is_dead -> lock_is_dead = false; RECOVER		\
	:: else								\
	fi

/*
 * The last one survives, and calls when all waiters have come. With
 * SIGNALS_ONLY all signallers are like that.
 */
#ifdef SIGNALS_ONLY
#define SURVIVES(s)	true
#define RESCUES(s)	shared_signal_section()
#else
#define SURVIVES(s)	(s == NR_SIGNALLERS - 1)
#define RESCUES(s)	shared_broadcast_section()
#endif

/* Within an atomic block: with a reference, and not in a section. */
#define DIE								\
	may_die = false;						\
	living_refs--;							\
	goto killed

#define OR_KILLED_ASLEEP(t) \
	:: atomic { may_die -> at[t] = AWAKE; dead = dead | BIT(t); DIE }
#define OR_KILLED_WAKING \
	:: atomic { may_die && !SURVIVES(s) -> DIE }

#include "futex.inc"
#include "shared.inc"

hidden byte survivors_return;
hidden byte dead_take_one_signal;

/* Within an atomic block: a write that came to pass, or not. */
#define PERHAPS(change)							\
	if								\
	:: change							\
	:: skip								\
	fi

proctype Waiter(byte t)
{
	SHARED_LOCALS;

	if
	:: atomic {
		waiters_started == t ->
		waiters_started++;
		shared_join(t)
	   }
	:: atomic {
		waiters_started == t && may_die ->
		waiters_started++;
		may_die = false;
		LOCKED;
		PERHAPS(group[opened].blocked++);
		PERHAPS(refs++);
		lock_is_dead = true;
		dead = dead | BIT(t);
		goto killed
	   }
	fi;
	do
	:: shared_futex_wait(t);
		if
		:: atomic { shared_look(t) }
		:: atomic {
			may_die ->
			LOCKED;
			if
			:: group[g].tokens -> group[g].tokens--
			:: skip
			fi;
			PERHAPS(refs--);
			lock_is_dead = true;
			dead = dead | BIT(t);
			DIE
		   }
		fi
	od;
	returned = returned | BIT(t);
killed:	skip
}

/* Within an atomic block: part of a release or post. */
inline half_a_release(g)
{
	PERHAPS(group[g].number++);
	PERHAPS(group[g].blocked = 0);
	PERHAPS(group[g].tokens = 0);
	PERHAPS(group[g].word++)
}

inline half_a_post(g)
{
	PERHAPS(group[g].blocked--);
	PERHAPS(group[g].tokens++);
	PERHAPS(group[g].word++)
}

inline half_a_section()
{
	LOCKED;
	if
	:: group[0].blocked -> half_a_release(0)
	:: group[1].blocked -> half_a_release(1)
	:: group[0].blocked && group[1].blocked ->
		half_a_release(0);
		half_a_release(1)
	:: !group[1 - opened].blocked -> opened = 1 - opened
	:: group[opened].blocked > 1 && !group[1 - opened].blocked ->
		opened = 1 - opened;
		half_a_post(1 - opened)
	:: group[1 - opened].blocked > 1 -> half_a_post(1 - opened)
	:: skip
	fi;
	PERHAPS(refs++);
	PERHAPS(group[0].wakers++);
	PERHAPS(group[1].wakers++);
	lock_is_dead = true
}

proctype Signaller(byte s)
{
	WAKER_LOCALS;
	bool wakes;

	if
	:: atomic {
		SURVIVES(s) && waiters_started == NR_WAITERS ->
		RESCUES(s)
	   }
	:: atomic { !SURVIVES(s) -> shared_signal_section() }
	:: atomic { !SURVIVES(s) -> shared_broadcast_section() }
	:: atomic {
		!SURVIVES(s) && may_die ->
		may_die = false;
		half_a_section();
		calls--;
		goto killed
	   }
	fi;
	calls--;
	if
	:: wakes -> shared_wake()
	:: else
	fi;
killed:	skip
}

#ifdef BUSTED_DESTROY_IS_PATIENT
#define NOBODY_COMES	false
#else
#define NOBODY_COMES	(living_refs == 0)
#endif

/* As soon as it is legal, which with signals only it never is. */
proctype Destroyer()
{
	byte seen;

#ifndef SIGNALS_ONLY
end_early:
	!calls;
	shared_destroy(NOBODY_COMES)
#endif
}

init
{
	atomic { run_shared() }
	atomic {
		timeout ->
#ifdef SIGNALS_ONLY
		i = 0;
		do
		:: returned -> i = i + (returned & 1); returned = returned >> 1
		:: else -> break
		od;
		CHECK(dead_take_one_signal,
		      i + (dead != 0) >= NR_SIGNALLERS)
#else
		CHECK(survivors_return, (returned | dead) == ALL_WAITERS)
#endif
	}
}
