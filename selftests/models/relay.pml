/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [G-RELAY] lib/cond/group.h: a group that relays, in a process with one CPU. A
 * signal that finds tokens wakes nobody, as somebody is on the way to take one,
 * and whoever has taken one wakes the next sleeper if any are left. The time of
 * the first may run out.
 *
 * Signallers meet at the claim alone: their wake-ups may be late, in any order.
 * What members do with the mutex afterwards does not matter here.
 *
 * @run quick
 * @run quick -DBROADCAST
 * @run -DNR_MEMBERS=4
 * @run -DNR_MEMBERS=4 -DBROADCAST
 * @twin quick TAKER_RELAYS nobody_unblocked_is_left: who has taken a token lets
 *	the others lie
 * @twin quick LEAVER_RELAYS nobody_unblocked_is_left: who takes one as its time
 *	is out lets the others lie
 * @twin quick POSTED_WORD nobody_unblocked_is_left: the signaller goes by the
 *	tokens that it saw before its post
 * @twin quick VALUE_CHECK nobody_unblocked_is_left: asleep after the wake-up
 * @twin quick WAKE_ALL nobody_unblocked_is_left -DBROADCAST: one is woken, and
 *	finds no tokens to relay
 * @twin quick LAST nobody_is_out_unasked: a signal releases several
 */
#ifndef NR_MEMBERS
#define NR_MEMBERS 3
#endif
#ifndef NR_TIMED
#define NR_TIMED 1
#endif

#define RELEASED	1
#define CLAIMED		2
#define TOKEN		4
#define TOKENS(word)	((word) / TOKEN)

#ifdef BUSTED_LAST
#define LAST	true
#else
#define LAST	(blocked == 1)
#endif

#define CHECK(property, expression) assert((expression) || property)

hidden byte nobody_unblocked_is_left;
hidden byte nobody_is_out_unasked;
hidden byte i;

byte word;
byte blocked = NR_MEMBERS;
bool asleep[NR_MEMBERS];

byte nr_signals, nr_given, nr_out, nr_left;

/* Any sleeper, if there is one. */
inline futex_wake_one()
{
	atomic {
		if
		:: asleep[0] -> asleep[0] = false
		:: asleep[1] -> asleep[1] = false
		:: asleep[2] -> asleep[2] = false
#if NR_MEMBERS > 3
		:: asleep[3] -> asleep[3] = false
#endif
		:: else
		fi
	}
}

inline futex_wake_all()
{
	d_step {
		i = 0;
		do
		:: i < NR_MEMBERS -> asleep[i] = false; i++
		:: else -> break
		od;
		i = 0
	}
}

inline be_out()
{
	nr_out++;
	CHECK(nobody_is_out_unasked, nr_out <= nr_given)
}

inline relay()
{
	seen = word;
	if
	:: TOKENS(seen) > 0 -> futex_wake_one()
	:: else
	fi
}

proctype Member(byte t)
{
	byte seen;

again:	if /* group_take() */
	:: atomic { word & RELEASED -> be_out() }
		goto out
	:: atomic { TOKENS(word) > 0 -> word = word - TOKEN; be_out() }
#ifndef BUSTED_TAKER_RELAYS
		relay();
#endif
		goto out
	:: atomic { !(word & RELEASED) && TOKENS(word) == 0 -> seen = word }
	fi;
	atomic { /* futex_wait() */
		if
#ifndef BUSTED_VALUE_CHECK
		:: word != seen -> goto again
#endif
		:: else -> asleep[t] = true; seen = 0
		fi
	}
	/* Who was woken may find that its time is out, too. */
end:	if
	:: atomic { !asleep[t] -> goto again }
	:: atomic { t < NR_TIMED -> asleep[t] = false }
	fi;
	if /* group_leave() */
	:: atomic { word & RELEASED -> be_out() }
	:: atomic { TOKENS(word) > 0 -> word = word - TOKEN; be_out() }
#ifndef BUSTED_LEAVER_RELAYS
		relay()
#endif
	:: atomic { word == 0 -> blocked--; nr_left++ }
	fi;
out:	seen = 0
}

/* The claim and the choice, the post or release, and the call to the kernel. */
proctype Signaller(byte t)
{
	bool wakes;

	atomic {
		nr_signals == t && !(word & CLAIMED) ->
		nr_signals++;
		if
		:: blocked == 0 -> goto out
		:: else -> word = word | CLAIMED
		fi;
		if
		:: LAST && TOKENS(word) == 0 -> goto release
		:: else
		fi;
#ifdef BUSTED_POSTED_WORD
		wakes = (TOKENS(word) == 0)
#endif
	}
	atomic {
		blocked--;
		word = word - CLAIMED + TOKEN;
		nr_given++;
#ifndef BUSTED_POSTED_WORD
		wakes = (TOKENS(word) == 1)
#endif
	}
	if
	:: wakes -> futex_wake_one()
	:: else
	fi;
	goto out;
release:
	atomic { word = RELEASED; blocked = 0; nr_given++ }
	futex_wake_all();
out:	wakes = false
}

#ifdef BROADCAST
proctype Broadcaster()
{
	atomic { !(word & CLAIMED) -> word = word | CLAIMED }
	atomic { word = RELEASED; nr_given = nr_given + blocked; blocked = 0 }
#ifdef BUSTED_WAKE_ALL
	futex_wake_one()
#else
	futex_wake_all()
#endif
}
#endif

init
{
	atomic {
		i = 0;
		do
		:: i < NR_MEMBERS -> run Member(i); run Signaller(i); i++
		:: else -> break
		od;
		i = 0;
#ifdef BROADCAST
		run Broadcaster()
#endif
	}
	/* Signalled or not: who is still here is asleep, and was not. */
	atomic {
		timeout ->
		CHECK(nobody_unblocked_is_left, nr_out == nr_given);
		CHECK(nobody_unblocked_is_left,
		      nr_out + nr_left + blocked == NR_MEMBERS)
	}
}
