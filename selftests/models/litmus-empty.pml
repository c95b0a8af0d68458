/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [CV-EMPTY] Message passing: a signaller closes the open group while another
 * looks, without the lock, whether anybody waits. A waiter is there all the
 * time, so it must see one of the two.
 *
 *	cond_claim_oldest()		cond_nobody_waits()
 *	closed = g			is open NULL?		(acquire)
 *	open = NULL	(release)	is closed NULL?
 *
 * @run quick
 * @twin RELEASE somebody_is_seen: open is cleared in memory first
 * @twin ACQUIRE somebody_is_seen: closed is read before open
 * @twin OPEN_BEFORE_CLOSED somebody_is_seen: as the program says it
 */
#define NR_CPUS 2

#include "weak.inc"

#define OPEN	0
#define CLOSED	1

hidden byte somebody_is_seen;

proctype Closer()
{
#if defined(BUSTED_OPEN_BEFORE_CLOSED)
	store_relaxed(0, OPEN, 0);
	store_release(0, CLOSED, 1)
#elif defined(BUSTED_RELEASE)
	store_relaxed(0, CLOSED, 1);
	store_relaxed(0, OPEN, 0)
#else
	store_relaxed(0, CLOSED, 1);
	store_release(0, OPEN, 0)
#endif
}

proctype Looker()
{
	byte open, closed;

#ifdef BUSTED_ACQUIRE
	if
	:: skip
	:: closed = LOAD(1, CLOSED); open = LOAD(1, OPEN); goto both
	fi;
#endif
	open = LOAD(1, OPEN);
	closed = LOAD(1, CLOSED);
both:	CHECK(somebody_is_seen, open || closed)
}

init
{
	atomic {
		memory[OPEN] = 1;
		run Closer();
		run Looker()
	}
}
