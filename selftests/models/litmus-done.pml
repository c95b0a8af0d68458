/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [S-DONE] Store buffering: a number is stored, then whoever sleeps is looked
 * for; a sleeper says that it sleeps, then looks at the number. One must see
 * the other. (Between that look and the sleep is the kernel's: litmus-sleep.)
 *
 *	stream_set_done()			stream_wait_done()
 *	done = number		(S)		sleepers + 1		(S)
 *	any sleepers?				is it done?
 *
 * @run quick
 * @twin SETTER no_sleeper_is_missed: done is on its way when it looks
 * @twin SLEEPER no_sleeper_is_missed: sleepers is on its way when it looks
 */
#if defined(BUSTED_SETTER)
#define WITHOUT_BARRIER 0
#elif defined(BUSTED_SLEEPER)
#define WITHOUT_BARRIER 1
#else
#define WITHOUT_BARRIER NO_CPU
#endif

#include "store-buffering.inc"

hidden byte no_sleeper_is_missed;

init
{
	run_both_sides();
	CHECK(no_sleeper_is_missed, FOUND(0) || FOUND(1))
}
