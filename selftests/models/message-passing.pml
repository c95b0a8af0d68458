/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Message passing: one CPU writes what it has to say, then a flag, with release;
 * another one that acquires the flag sees what was said before. The pairs of
 * lib/ that are like that:
 *
 *		said			flag
 * locks	what they guard		the lock's word is free
 * "nobody waits"	@open of the	the user's mutex is free: so
 *		condvar			cond_is_idle() needs no full barrier
 * [G-REF]	a group's new owner	its @refs are not 0
 * [CV-EMPTY]	@closed is set		@open is cleared
 * [CV-FORK]	@open is cleared	@generation is ours
 * [W-WORD]	@interrupts are more	the word that is slept on has changed
 * [W-SEEN]	the C library's mark	@interrupts are more
 * [B-ARRIVE], [B-OPEN], [B-PAIR], [B-LEAVE], [P-CLAIM], [P-TASK], [P-END],
 * [P-THREADS], [S-FAIL], [O-COND], @done and @users of a stream: see memory-ordering.rst
 *
 * @run quick
 * @twin quick RELEASE what_was_said_is_seen: the flag is in memory first
 * @twin quick ACQUIRE what_was_said_is_seen: what was said is read first
 */
#define NR_CPUS 2

#include "weak.inc"

#define SAID	0
#define FLAG	1

hidden byte what_was_said_is_seen;

proctype Teller()
{
	store_relaxed(0, SAID, 1);
	BUSTED_OR(RELEASE, store_relaxed(0, FLAG, 1), store_release(0, FLAG, 1))
}

proctype Listener()
{
	byte flag, said;

	BUSTED(ACQUIRE,
		if
		:: skip
		:: said = LOAD(1, SAID); flag = LOAD(1, FLAG); goto both
		fi;)
	flag = LOAD(1, FLAG);
	said = LOAD(1, SAID);
both:	CHECK(what_was_said_is_seen, !flag || said)
}

init
{
	atomic {
		run Teller();
		run Listener()
	}
}
