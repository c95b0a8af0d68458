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
#define NR_CPUS 2

#include "weak.inc"

#define GROUP	0
#define KICK	1

hidden byte one_sees_the_other;
byte ready;
bool thread_sees, canceller_sees;

proctype Thread()
{
#ifdef BUSTED_THREAD_BARRIER
	store_release(0, GROUP, 1);
#else
	store_seq_cst(0, GROUP, 1);
#endif
	thread_sees = LOAD(0, KICK);
	ready++
}

proctype Canceller()
{
#ifdef BUSTED_CANCELLER_BARRIER
	store_release(1, KICK, 1);
#else
	store_seq_cst(1, KICK, 1);
#endif
	canceller_sees = LOAD(1, GROUP);
	ready++
}

init
{
	atomic {
		run Thread();
		run Canceller()
	}
	ready == 2;
	CHECK(one_sees_the_other, thread_sees || canceller_sees)
}
