/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [S-USERS] Store buffering: who uses a stream's slot says so, then looks at the
 * stream's life; who ends the stream changes its life, then looks for users. One
 * must see the other. (What they do then: handle.pml.)
 *
 *	stream_use()				drover_stream_destroy()
 *	users + 1		(S)		life + 1		(S)
 *	is it the stream's life?		any users?
 *
 * @run quick
 * @twin USER nobody_looks_at_another: users is on its way when it looks
 * @twin OWNER nobody_looks_at_another: life is on its way when it looks
 */
#if defined(BUSTED_USER)
#define WITHOUT_BARRIER 0
#elif defined(BUSTED_OWNER)
#define WITHOUT_BARRIER 1
#else
#define WITHOUT_BARRIER NO_CPU
#endif

#include "store-buffering.inc"

hidden byte nobody_looks_at_another;

init
{
	run_both_sides();
	CHECK(nobody_looks_at_another, FOUND(0) || FOUND(1))
}
