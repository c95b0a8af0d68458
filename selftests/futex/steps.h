/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * steps.h - waiters that are moved from futex to futex, in words: see run.h
 *
 *	"wait from 3; requeue from to 1 max = 3; gone 1; all to = 2"
 *
 * What is asked of a futex beside a wait or requeue is asked by its alias, if
 * it is mapped twice: the futex is the key, not the address.
 */
#ifndef DROVER_SELFTESTS_FUTEX_STEPS_H
#define DROVER_SELFTESTS_FUTEX_STEPS_H

#include "run.h"
#include "sleepers.h"

enum futex_word {
	FROM,
	TO,
	NR_WORDS
};

/* How the scenario is run now. */
static const struct requeue_op *op;
static int flags;
static uint32_t own_words[NR_WORDS], *futexes = own_words, *aliases = own_words;

/* Who shares the futexes meets private ones, and the other way round. */
static inline int other_flags(void)
{
	return flags ^ FUTEX_PRIVATE_FLAG;
}

static inline bool compares(void)
{
	return op->requeue != op_requeue;
}

STEP(wait)
{
	sleepers_fill(args[1], &futexes[args[0]], flags);
	return 0;
}

/* bits WORD BITS: only a wake with one of these bits finds it. */
STEP(bits)
{
	sleepers_add(&futexes[args[0]], flags, args[1]);
	return 0;
}

/* requeue WORD WORD WAKE MOVE */
STEP(requeue)
{
	return op->requeue(&futexes[args[0]], &aliases[args[1]], flags, args[2],
			   args[3]);
}

STEP(requeue_other)
{
	return op->requeue(&futexes[args[0]], &futexes[args[1]], other_flags(),
			   args[2], args[3]);
}

/* In pieces of 1, 2, 3 ... while there are some: how many altogether. */
STEP(pieces)
{
	long all = 0, moved;

	for (int piece = 1;
	     (moved = op->requeue(&futexes[args[0]], &aliases[args[1]], flags,
				  0, piece)) > 0;
	     piece++)
		all += moved;
	return all;
}

STEP(all)
{
	return sleepers_wake_all(&aliases[args[0]], flags);
}

/* one WORD: the number of the one that is woken there, or -1. */
STEP(one)
{
	return sleepers_wake_one(&aliases[args[0]], flags);
}

/* line WORD FIRST LAST: do those come, in this order? */
STEP(line)
{
	long next = args[1];

	while (next <= args[2] && do_one(args) == next)
		next++;
	return next == args[2] + 1;
}

STEP(one_other)
{
	return sys_futex_wake(&aliases[args[0]], other_flags(), 1);
}

STEP(wake_bits)
{
	return sys_futex_wake_bitset(&aliases[args[0]], flags, INT_MAX,
				     args[1]);
}

STEP(set)
{
	futexes[args[0]] = args[1];
	return 0;
}

STEP(gone)
{
	reached(&nr_returned, args[0]);
	return 0;
}

/* turn N: who returned as number N, from 0 */
STEP(turn)
{
	return sleepers_of_turn(args[0]);
}

NUMBER(from, FROM);
NUMBER(to, TO);

/* steps_hold - one scenario, from no waiters to no waiters */
static inline bool steps_hold(const char *steps)
{
	bool ok;

	watchdog(steps);
	ok = steps_do(steps);
	sleepers_end();
	return ok;
}

#endif /* DROVER_SELFTESTS_FUTEX_STEPS_H */
