/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [G-STATE] Message passing: a claimer marks the members' mutex as contended,
 * then changes the group's state; a member that finds itself released destroys
 * the mutex and uses the memory for something else, which must stay.
 *
 *	cond_plan(), group_release()	member_sleep()
 *	mutex = contended		released?	(acquire)
 *	state = released (release)	mutex = other
 *
 * A member's acquire keeps its own writes behind it. The models have no CPU
 * that stores what it may have to take back, so that has no twin.
 *
 * @run quick
 * @twin RELEASE nothing_is_overwritten: the mark is in memory last
 */
#define NR_CPUS 2

#include "weak.inc"

#define MUTEX	0
#define STATE	1

#define CONTENDED	1
#define OTHER		2

hidden byte nothing_is_overwritten;

proctype Claimer()
{
	store_relaxed(0, MUTEX, CONTENDED);
#ifdef BUSTED_RELEASE
	store_relaxed(0, STATE, 1)
#else
	store_release(0, STATE, 1)
#endif
}

proctype Member()
{
	LOAD(1, STATE) == 1;
	store_relaxed(1, MUTEX, OTHER)
}

init
{
	atomic {
		run Claimer();
		run Member()
	}
	atomic {
		timeout ->
		CHECK(nothing_is_overwritten, memory[MUTEX] == OTHER)
	}
}
