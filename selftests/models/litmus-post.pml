/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [S-POST] Store buffering: a submitter posts a number, then looks whether the
 * thread of the queue is asleep; the thread says that it is about to sleep,
 * then looks what is posted. One must see the other. (What they do then:
 * post.pml.)
 *
 *	post()					await_post()
 *	posted = number		(S)		asleep = number		(S)
 *	is it asleep?				is it posted?
 *
 * @run quick
 * @twin SUBMITTER nothing_is_left_lying: posted is on its way when it looks
 * @twin THREAD nothing_is_left_lying: asleep is on its way when it looks
 */
#if defined(BUSTED_SUBMITTER)
#define WITHOUT_BARRIER 0
#elif defined(BUSTED_THREAD)
#define WITHOUT_BARRIER 1
#else
#define WITHOUT_BARRIER NO_CPU
#endif

#include "store-buffering.inc"

hidden byte nothing_is_left_lying;

init
{
	run_both_sides();
	CHECK(nothing_is_left_lying, FOUND(0) || FOUND(1))
}
