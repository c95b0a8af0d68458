/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sleep of a member, and the kernel's part in it. Store buffering: who goes
 * to sleep is counted and then compares the word; who wakes changes the word
 * and then looks whether anybody is counted. The full barriers are the
 * kernel's.
 *
 *	FUTEX_WAIT			post, FUTEX_WAKE
 *	sleepers = 1	(S)		word = new	(S)
 *	is the word old?		any sleepers?
 *
 * @run quick
 * @twin SLEEPER_BARRIER nobody_sleeps_on: counted too late
 * @twin WAKER_BARRIER nobody_sleeps_on: changed too late
 */
#if defined(BUSTED_SLEEPER_BARRIER)
#define WITHOUT_BARRIER 0
#elif defined(BUSTED_WAKER_BARRIER)
#define WITHOUT_BARRIER 1
#else
#define WITHOUT_BARRIER NO_CPU
#endif

#include "store-buffering.inc"

hidden byte nobody_sleeps_on;

init
{
	run_both_sides();
	CHECK(nobody_sleeps_on, FOUND(0) || FOUND(1))
}
