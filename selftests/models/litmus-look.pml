/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [W-LOOK] Message passing: a canceller raises the kick of a thread, then
 * changes the word that it sleeps on. A thread reads the word, then its kick,
 * and sleeps if the word is still the same: with the old one it does not
 * (litmus-sleep).
 *
 *	waiter_kick(), group_kick()	member_sleep(), shared_sleep()
 *	kick = 1			word	(acquire)
 *	word = new	(release)	kick?
 *
 * @run quick
 * @twin RELEASE new_word_has_the_kick: the word is in memory first
 * @twin ACQUIRE new_word_has_the_kick: the kick is read first
 */
#define NR_CPUS 2

#include "weak.inc"

#define KICK	0
#define WORD	1

hidden byte new_word_has_the_kick;

proctype Canceller()
{
	store_relaxed(0, KICK, 1);
#ifdef BUSTED_RELEASE
	store_relaxed(0, WORD, 1)
#else
	store_release(0, WORD, 1)
#endif
}

proctype Thread()
{
	byte word, kick;

#ifdef BUSTED_ACQUIRE
	if
	:: skip
	:: kick = LOAD(1, KICK); word = LOAD(1, WORD); goto both
	fi;
#endif
	word = LOAD(1, WORD);
	kick = LOAD(1, KICK);
both:	CHECK(new_word_has_the_kick, !word || kick)
}

init
{
	atomic {
		run Canceller();
		run Thread()
	}
}
