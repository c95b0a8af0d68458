/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [W-SEEN] Message passing: a canceller marks the thread in the C library, then
 * raises its kick; a thread that begins to wait notes which kicks it has seen,
 * then asks whether it is marked.
 *
 *	pthread_cancel()		wait_cancellable()
 *	marked = 1			seen = kick		(acquire)
 *	kick = 1	(release)	marked?
 *
 * @run quick
 * @twin RELEASE who_saw_the_kick_is_marked: the kick is in memory first
 * @twin ACQUIRE who_saw_the_kick_is_marked: the mark is looked for first
 */
#define NR_CPUS 2

#include "weak.inc"

#define MARKED	0
#define KICK	1

hidden byte who_saw_the_kick_is_marked;

proctype Canceller()
{
	store_relaxed(0, MARKED, 1);
#ifdef BUSTED_RELEASE
	store_relaxed(0, KICK, 1)
#else
	store_release(0, KICK, 1)
#endif
}

proctype Thread()
{
	byte seen, marked;

#ifdef BUSTED_ACQUIRE
	if
	:: skip
	:: marked = LOAD(1, MARKED); seen = LOAD(1, KICK); goto both
	fi;
#endif
	seen = LOAD(1, KICK);
	marked = LOAD(1, MARKED);
both:	CHECK(who_saw_the_kick_is_marked, !seen || marked)
}

init
{
	atomic {
		run Canceller();
		run Thread()
	}
}
