/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [W-INTERRUPT] Store buffering: a thread says where it waits, then the kernel
 * compares the word of the group; who interrupts a group has changed the word,
 * then looks who is in it. The thread does not sleep, or it is interrupted.
 *
 *	cond_wait(), FUTEX_WAIT			release, waiter_interrupt()
 *	waiter.group = g	(S)		state = released	(S)
 *	is the word old?			is anybody in the group?
 *
 * @run quick
 * @twin THREAD nobody_sleeps_unseen: its group is on its way when it looks
 * @twin INTERRUPTER nobody_sleeps_unseen: the state is on its way when it looks
 */
#if defined(BUSTED_THREAD)
#define WITHOUT_BARRIER 0
#elif defined(BUSTED_INTERRUPTER)
#define WITHOUT_BARRIER 1
#else
#define WITHOUT_BARRIER NO_CPU
#endif

#include "store-buffering.inc"

hidden byte nobody_sleeps_unseen;

init
{
	run_both_sides();
	CHECK(nobody_sleeps_unseen, FOUND(0) || FOUND(1))
}
