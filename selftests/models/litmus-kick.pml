/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [W-KICK] Store buffering: a thread says where it waits and then looks for a
 * cancellation; the canceller does the reverse. One of them sees the other.
 *
 *	thread				canceller
 *	waiter.group = g	(S)	waiter.kick = 1		(S)
 *	is waiter.kick set?	(L)	is waiter.group set?	(L)
 *
 * @run quick
 * @twin THREAD_BARRIER one_sees_the_other: its store is still in the buffer
 * @twin CANCELLER_BARRIER one_sees_the_other: the same on the other side
 */
#if defined(BUSTED_THREAD_BARRIER)
#define WITHOUT_BARRIER 0
#elif defined(BUSTED_CANCELLER_BARRIER)
#define WITHOUT_BARRIER 1
#else
#define WITHOUT_BARRIER NO_CPU
#endif

#include "store-buffering.inc"

hidden byte one_sees_the_other;

init
{
	run_both_sides();
	CHECK(one_sees_the_other, FOUND(0) || FOUND(1))
}
