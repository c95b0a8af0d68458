/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Process-shared condvars when one process is killed, at any step: what it has
 * done so far stays, and the rest never comes.
 *
 * If a survivor broadcasts, all survivors return, and destroy ends, which knows
 * the dead by their silence. If two survivors signal instead, the dead one
 * takes at most one of the signals with it.
 *
 * @run
 * @run quick -DSIGNALS_ONLY
 * @twin LATER_OVERLOOKED survivors_return: a waker was killed before it
 *	woke
 * @twin quick NO_HELP survivors_return: a broadcast that is half done stays so
 * @twin quick DESTROY_IS_PATIENT invalid_end_state: waits for a dead one
 * @twin quick POST_SAME_WORD dead_take_one_signal -DSIGNALS_ONLY: with nobody dead
 */
#define NR_WAITERS	3
#define NR_SIGNALLERS	2
#define NR_THREADS	(NR_WAITERS + 1)
#define NR_GROUPS	2
#define DESTROYS

/* After a death anybody may return: spec.inc has nothing to say. */
#define spec_join(c, t)			skip
#define spec_return(c, t)		skip
#define spec_leave(c, t)		skip
#define spec_signal(c)			skip
#define spec_broadcast(c)		skip
#define spec_broadcast_to(c, threads)	skip
#define spec_nobody(c)			skip
#define SPEC_EFFECT			skip

bool may_die = true;
byte living;		/* those of the users that survive */
byte dead, returned;	/* sets of waiters */
byte calls = NR_SIGNALLERS;

#define BIT(t)		(1 << (t))
#define KILLED
#define MORE_LOCALS	; bool survives, counted
#define LIVING(change)	living change; counted = !counted
#define OR_KILLED \
	:: atomic { may_die && !survives -> may_die = false; goto killed }
#define OR_KILLED_ASLEEP OR_KILLED

#include "futex.inc"
#include "shared.inc"

hidden byte survivors_return;
hidden byte dead_take_one_signal;

/* Within an atomic block. */
inline die()
{
	if
	:: counted -> living--
	:: else
	fi
}

proctype Waiter(byte t)
{
	MEMBER_LOCALS;

	waiters_started == t;
	shared_join(t);
	shared_sleep(t);
out:	shared_leave(t);
	atomic { returned = returned | BIT(t); goto end }
killed:	atomic {
		die();
		at[t] = AWAKE;
		dead = dead | BIT(t);
		waiters_started =
			waiters_started + (waiters_started == t -> 1 : 0)
	}
end:	skip
}

/* The last one survives, and calls when all waiters have come. */
#ifdef SIGNALS_ONLY
#define SURVIVES(s)	true
#define RESCUES(s)	shared_signal()
#else
#define SURVIVES(s)	(s == NR_SIGNALLERS - 1)
#define RESCUES(s)	shared_broadcast(s)
#endif

proctype Signaller(byte s)
{
	WAKER_LOCALS;

	survives = SURVIVES(s);
	if
	:: survives && (joined | dead) == ALL_WAITERS -> RESCUES(s)
	:: !survives -> shared_signal()
	:: !survives -> shared_broadcast(s)
	fi;
out:	atomic { calls--; goto end }
killed:	atomic { die(); calls-- }
end:	skip
}

#define NOBODY_COMES	BUSTED_OR(DESTROY_IS_PATIENT, false, (living == 0))

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
		CHECK(dead_take_one_signal, i + (dead != 0) >= NR_SIGNALLERS)
#else
		CHECK(survivors_return, (returned | dead) == ALL_WAITERS)
#endif
	}
}
