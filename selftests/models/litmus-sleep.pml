/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sleep of a member, and the kernel's part in it. Store buffering: who goes
 * to sleep is counted and then compares the word; who wakes changes the word
 * and then looks whether anybody is counted. The full barriers are the kernel's.
 *
 *	FUTEX_WAIT			post, FUTEX_WAKE
 *	sleepers = 1	(S)		word = new	(S)
 *	is the word old?		any sleepers?
 *
 * @run quick
 * @twin SLEEPER_BARRIER nobody_sleeps_on: counted too late
 * @twin WAKER_BARRIER nobody_sleeps_on: changed too late
 */
#define NR_CPUS 2

#include "weak.inc"

#define SLEEPERS	0
#define WORD		1

hidden byte nobody_sleeps_on;
byte ready;
bool asleep, woken;

proctype Member()
{
#ifdef BUSTED_SLEEPER_BARRIER
	store_release(0, SLEEPERS, 1);
#else
	store_seq_cst(0, SLEEPERS, 1);
#endif
	asleep = !LOAD(0, WORD);
	ready++
}

proctype Signaller()
{
#ifdef BUSTED_WAKER_BARRIER
	store_release(1, WORD, 1);
#else
	store_seq_cst(1, WORD, 1);
#endif
	woken = LOAD(1, SLEEPERS);
	ready++
}

init
{
	atomic {
		run Member();
		run Signaller()
	}
	ready == 2;
	CHECK(nobody_sleeps_on, !asleep || woken)
}
