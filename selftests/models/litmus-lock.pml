/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Locks, and why "nobody waits" needs no full barrier: a thread joins the open
 * group and unlocks the user's mutex; a signaller that takes it after that sees
 * that somebody waits. Message passing.
 *
 *	waiter				signaller
 *	open = g			is the mutex free?	(acquire)
 *	mutex = free	(release)	open
 *
 * @run quick
 * @twin RELEASE waiter_is_seen: the mutex is free in memory first
 * @twin ACQUIRE waiter_is_seen: the group is read before the mutex is taken
 */
#define NR_CPUS 2

#include "weak.inc"

#define OPEN	0
#define MUTEX	1	/* 1: free */

hidden byte waiter_is_seen;

proctype Waiter()
{
	store_relaxed(0, OPEN, 1);
#ifdef BUSTED_RELEASE
	store_relaxed(0, MUTEX, 1)
#else
	store_release(0, MUTEX, 1)
#endif
}

proctype Signaller()
{
	byte free, open;

#ifdef BUSTED_ACQUIRE
	if
	:: skip
	:: open = LOAD(1, OPEN); free = LOAD(1, MUTEX); goto both
	fi;
#endif
	free = LOAD(1, MUTEX);
	open = LOAD(1, OPEN);
both:	CHECK(waiter_is_seen, !free || open)
}

init
{
	atomic {
		run Waiter();
		run Signaller()
	}
}
