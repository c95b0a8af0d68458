// SPDX-License-Identifier: MIT
/* Raise a number, and wait until it is high enough. */
#include "stream/number.h"

#include <errno.h>
#include <limits.h>

#include "base/thread.h"
#include "pool/pool.h"

#define SLEEPER (NUMBER_MAX + 1)
#define MIXED	(UINT64_C(1) << 63) /* there were several at one time */

/*
 * [S-NUMBER] This thread raises the number, then reads sleepers. A thread that
 * goes to sleep changes sleepers, then reads the number. This is store
 * buffering, so both sides are sequentially consistent; otherwise a sleeper
 * could miss its number. If the number is raised after the sleeper has read it,
 * the kernel's comparison of the futex word fails.
 *
 * If a sleeper was always alone, the thread that wakes it takes the sleeper's
 * number out of sleepers. So the next raise makes no system call even if the
 * sleeper has not run yet. With several sleepers that must not be done: the one
 * that remains may wait for a higher number, and may go to sleep only after the
 * wake-up. Model: number.pml
 */
void number_raise(struct number *n, uint64_t to)
{
	uint64_t old = load_relaxed(&n->at), sleepers;

	do {
		if (old >= to)
			return;
	} while (!cas_seq_cst(&n->at, &old, to));
	sleepers = load_seq_cst(&n->sleepers);
	if (!sleepers || NUMBER_MAX - (sleepers & NUMBER_MAX) > to)
		return;
	if (sleepers < 2 * SLEEPER)
		cas_seq_cst(&n->sleepers, &sleepers, SLEEPER);
	wake_sleepers(LOW_HALF(&n->at), INT_MAX, false);
}

/* Announce a sleeper, and the number that it waits for. */
static void sleepers_enter(struct number *n, uint64_t wanted)
{
	uint64_t old = load_relaxed(&n->sleepers), new;

	wanted = NUMBER_MAX - wanted;
	do {
		new = old ? (old + SLEEPER) | MIXED : SLEEPER;
		if ((new &NUMBER_MAX) < wanted)
			new = (new & ~NUMBER_MAX) | wanted;
	} while (!cas_seq_cst(&n->sleepers, &old, new)); /* [S-NUMBER] */
}

static void sleepers_leave(struct number *n)
{
	uint64_t old = load_relaxed(&n->sleepers), new;

	do {
		new = (old & ~MIXED) < 2 * SLEEPER ? 0 : old - SLEEPER;
	} while (!cas_seq_cst(&n->sleepers, &old, new));
}

struct awaited_number {
	const struct number *number;
	uint64_t wanted;
};

static bool poll_number(void *arg)
{
	const struct awaited_number *a = arg;

	return load_acquire(&a->number->at) >= a->wanted;
}

int number_wait(struct number *n, uint64_t wanted,
		const struct deadline *deadline)
{
	struct awaited_number a = { n, wanted };
	uint64_t seen;
	long ret = 0;

	if (poll_before_sleep(&thread_this.for_streams, poll_number, &a,
			      time_left(deadline)))
		return 0;
	/* If the caller is a worker, its place is free until block_end(). */
	block_begin(true);
	sleepers_enter(n, wanted);
	/* [S-NUMBER] */
	while ((seen = load_seq_cst(&n->at)) < wanted && ret != -ETIMEDOUT)
		ret = sleep_on(LOW_HALF(&n->at), (uint32_t)seen, deadline,
			       false, FUTEX_BITSET_MATCH_ANY,
			       &thread_this.for_streams);
	sleepers_leave(n);
	block_end();
	return seen < wanted ? ETIMEDOUT : 0;
}
