// SPDX-License-Identifier: MIT
/*
 * Two threads that do nothing but wait for each other: one word counts
 * arrivals, and who finds it odd waits for it to change (barrier-design.rst
 * says why that is faster). Whoever wants more ends the pair: all arrive at the
 * gate from then on, and one thread that may be waiting here is counted there.
 *
 * [B-PAIR] All that is done to the word is one step with the look at it:
 *  - Each arrival releases what was done before it; the one that waited acquires
 *    it at the end of barrier_await(), the other one by its own arrival.
 *  - Who falls asleep does so while the word is as it left it, with ASLEEP set;
 *    who arrives sees by the same step whether it is to wake somebody.
 *  - An arrival comes before the pair's end, then it is counted at the gate, or
 *    after it, then it sees CLOSED, is nothing, and is made again at the gate, once
 *    the first one has been counted there (is_pair, release and acquire).
 * Model: pair.pml
 */
#include <limits.h>

#include "barrier/barrier.h"

/* Another thread is in pair_close(). */
static COLD void await_end(struct barrier *b)
{
	for (unsigned int i = 0; load_acquire(&b->is_pair); i++)
		thread_pause(i);
}

static COLD void wake(struct barrier *b)
{
	and_relaxed(&b->pair, ~(uint64_t)GATE_ASLEEP);
	sleep_end(LOW_HALF(&b->pair), INT_MAX, barrier_is_shared(b));
}

/* The caller's arrival number @mine is odd: it waits for the next one. */
static inline void await_other(struct barrier *b, uint32_t mine, uint32_t phase)
{
	uint32_t now = (uint32_t)barrier_await(b, &b->pair, mine);

	/* PAIR_BACK: it has arrived at the gate, in @phase. */
	if (unlikely((int32_t)(now - mine) < 0))
		(void)barrier_await(b, &b->gate, phase);
}

HOT int pair_wait(struct barrier *b)
{
	bool counted = barrier_enter(b);
	/* Before the arrival: it is the same for as long as there is a pair. */
	uint32_t phase = gate_phase(load_relaxed(&b->gate));
	uint64_t word = add_acq_rel(&b->pair, PAIR_ARRIVAL) + PAIR_ARRIVAL;

	if (unlikely(word & PAIR_CLOSED)) {
		await_end(b);
		barrier_leave(b, counted);
		return wait_together(b);
	}
	if (word & PAIR_ARRIVAL) {
		await_other(b, gate_phase(word), phase);
		barrier_leave(b, counted);
		return 0;
	}
	if (unlikely(word & GATE_ASLEEP))
		wake(b);
	barrier_leave(b, counted);
	return DROVER_BARRIER_SERIAL;
}

void pair_close(struct barrier *b)
{
	uint64_t old = load_relaxed(&b->pair), to;

	do {
		if (old & PAIR_CLOSED) {
			await_end(b);
			return;
		}
		to = (old | PAIR_CLOSED) & ~(uint64_t)GATE_ASLEEP;
		if (old & PAIR_ARRIVAL)
			to -= PAIR_BACK;
	} while (!cas_acq_rel(&b->pair, &old, to));
	if (old & PAIR_ARRIVAL)
		add_acq_rel(&b->arrived, ARRIVAL); /* [B-ARRIVE] */
	store_release(&b->is_pair, 0);
	if (old & GATE_ASLEEP)
		sleep_end(LOW_HALF(&b->pair), INT_MAX, barrier_is_shared(b));
}

void pair_open(struct barrier *b)
{
	uint64_t word = load_relaxed(&b->pair);

	/* Beyond all arrivals, and even. */
	store_relaxed(&b->pair, (word | (2 * PAIR_ARRIVAL - 1)) + 1);
	store_release(&b->is_pair, 1);
}
