/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [P-END] Store buffering: a submit counts its task as pending, then looks
 * whether the pool ends; a shutdown says that it does, then looks whether
 * anything is pending. One must see the other: the submit takes its task back,
 * or the shutdown waits for it.
 *
 *	pool_admit()				shutdown
 *	pending + 1		(S)		ending = 1		(S)
 *	is ending set?				is anything pending?
 *
 * @run quick
 * @twin SUBMIT no_task_is_forgotten: pending is on its way when it looks
 * @twin SHUTDOWN no_task_is_forgotten: ending is on its way when it looks
 */
#if defined(BUSTED_SUBMIT)
#define WITHOUT_BARRIER 0
#elif defined(BUSTED_SHUTDOWN)
#define WITHOUT_BARRIER 1
#else
#define WITHOUT_BARRIER NO_CPU
#endif

#include "store-buffering.inc"

hidden byte no_task_is_forgotten;

init
{
	run_both_sides();
	CHECK(no_task_is_forgotten, FOUND(0) || FOUND(1))
}
