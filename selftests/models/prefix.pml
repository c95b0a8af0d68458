/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [S-PREFIX] Store buffering: two operations finish at once. Each marks itself,
 * then goes on from what is done as far as there are marks: stream_finish().
 * The last one must not be left marked and not done.
 *
 *	finished[n] = n				(seq_cst)
 *	next = done + 1; is finished[next] next?
 *	if so done = next, and once more	(seq_cst)
 *
 * The first one changes done before it looks for the second's mark: a barrier.
 *
 * @run quick
 * @twin quick SECOND all_is_done: its mark is on its way when the first one
 *	looks
 */
#define NR_CPUS		2
#define NR_WORDS	3

#include "weak.inc"

#define DONE	0
#define LAST	2

hidden byte all_is_done;

/* Operation n is on CPU n - 1, and its mark in word n. */
proctype Finisher(byte n)
{
	byte next;

	if
	BUSTED_OR(SECOND,
		:: n == LAST -> store_release(n - 1, n, n)
		:: n != LAST -> store_seq_cst(n - 1, n, n),
		:: store_seq_cst(n - 1, n, n))
	fi;
	do
	:: next = LOAD(n - 1, DONE) + 1;
	   if
	   :: next > LAST -> break
	   :: next <= LAST && LOAD(n - 1, next) != next -> break
	   :: next <= LAST && LOAD(n - 1, next) == next ->
		atomic {
			IS_EMPTY(n - 1) ->
			memory[DONE] =
				(memory[DONE] < next -> next : memory[DONE])
		}
	   fi
	od
}

init
{
	atomic {
		run Finisher(1);
		run Finisher(2)
	}
	atomic { timeout -> CHECK(all_is_done, memory[DONE] == LAST) }
}
