/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [P-PUSH], [P-FOUND] Store buffering: a submit counts its task, then looks
 * whether a worker is searching; the worker stops searching, then looks for
 * tasks. One must see the other: the submit wakes somebody if nobody searches.
 *
 *	queue_push(), wake_if_needed()		await_task()
 *	nr_queued = 1		(seq_cst)	nr_searching = 0	(seq_cst)
 *	is nr_searching 0?			is nr_queued 1?
 *
 * @run
 * @twin SUBMIT somebody_cares: nr_queued is on its way when it looks
 * @twin WORKER somebody_cares: nr_searching is on its way when it looks
 */
#define NR_CPUS 2

#include "weak.inc"

#define QUEUED	  0
#define SEARCHING 1

hidden byte somebody_cares;

byte nr_through;
bool wakes, finds;

proctype Submit()
{
#ifdef BUSTED_SUBMIT
	store_release(0, QUEUED, 1);
#else
	store_seq_cst(0, QUEUED, 1);
#endif
	wakes = (LOAD(0, SEARCHING) == 0);
	nr_through++
}

proctype Worker()
{
#ifdef BUSTED_WORKER
	store_release(1, SEARCHING, 0);
#else
	store_seq_cst(1, SEARCHING, 0);
#endif
	finds = (LOAD(1, QUEUED) == 1);
	nr_through++
}

init
{
	atomic {
		memory[SEARCHING] = 1;
		run Submit();
		run Worker()
	}
	nr_through == 2;
	CHECK(somebody_cares, wakes || finds)
}
