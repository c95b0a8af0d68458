/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [P-PUSH], [P-FOUND], [P-PLACE] Store buffering: a submit counts its task, then looks
 * whether a worker is searching; the worker stops searching, then looks for
 * tasks. One must see the other: the submit wakes somebody if nobody searches.
 *
 *	queue_push(), wake_if_needed()		await_task()
 *	nr_queued = 1		(S)		nr_searching = 0	(S)
 *	is nr_searching 0?			is nr_queued 1?
 *
 * nr_active in the place of nr_searching: the same for a worker's place.
 *
 * @run quick
 * @twin SUBMIT somebody_cares: nr_queued is on its way when it looks
 * @twin WORKER somebody_cares: nr_searching is on its way when it looks
 */
#if defined(BUSTED_SUBMIT)
#define WITHOUT_BARRIER 0
#elif defined(BUSTED_WORKER)
#define WITHOUT_BARRIER 1
#else
#define WITHOUT_BARRIER NO_CPU
#endif

/* nr_queued, nr_searching */
#define BECOMES(cpu) (1 - (cpu))

#include "store-buffering.inc"

hidden byte somebody_cares;

init
{
	run_both_sides();
	CHECK(somebody_cares, FOUND(0) || FOUND(1))
}
