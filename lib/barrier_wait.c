// SPDX-License-Identifier: MIT
/*
 * How a thread waits at a barrier: the only place that decides, and it never
 * affects correctness.
 *
 *   look	polls the gate, for as long as threads that run side by side
 *		are usually apart; no clock is read
 *   spin	polls on, up to the budget, when each thread has a CPU
 *   yield	when there are more threads than CPUs: those that are still to
 *		come may be waiting for this very CPU
 *   sleep	in futex, until the gate opens
 *
 * The budget is learned. A wait that would have ended within the longest one
 * permitted raises it to twice its time, so the next one does not sleep; one
 * that would not have lowers it, so a program whose phases are long does not
 * burn CPU time for nothing. Foreign load makes waits of about a slice of the
 * scheduler's, a few milliseconds; to sleep or to yield then gives away the
 * CPU for another slice, so the longest budget is above that.
 *
 * The numbers are from the measurements in Documentation/benchmarks.rst.
 */
#include <sched.h>

#include "barrier_internal.h"
#include "clock.h"
#include "cpus.h"

/* Looks of a thread that has a CPU to itself, and of one that has not. */
#define LOOKS	      200
#define LOOKS_CROWDED 4

/* Looks at the gate for each at the clock. */
#define LOOKS_PER_CLOCK 32

#define BUDGET_LEAST (20 * NS_PER_US)
#define BUDGET_FIRST (1000 * NS_PER_US)
#define BUDGET_MOST  (5000 * NS_PER_US)

/*
 * How often a crowded thread yields. One that takes longer than a turn of a
 * thread of ours went to somebody else: foreign load, and no more of that.
 */
#define YIELDS	   20
#define YIELD_LONG (1000 * NS_PER_US)

void barrier_look_at_cpus(struct barrier *b)
{
	uint32_t cpus = b->cpus ? b->cpus : cpus_usable();
	uint32_t crowded = load_relaxed(&b->count) > cpus;

	/* Waiting threads read it: write only what is new. */
	if (load_relaxed(&b->crowded) != crowded)
		store_relaxed(&b->crowded, crowded);
}

void barrier_wait_init(struct barrier *b, uint32_t spin_us)
{
	b->most = BUDGET_MOST;
	if (spin_us == DROVER_BARRIER_NO_SPIN)
		b->most = 0;
	else if (spin_us)
		b->most = spin_us < UINT32_MAX / NS_PER_US ?
				  spin_us * NS_PER_US :
				  UINT32_MAX;
	store_relaxed(&b->budget,
		      b->most < BUDGET_FIRST ? b->most : BUDGET_FIRST);
	barrier_look_at_cpus(b);
}

static bool look(struct barrier *b, uint32_t phase, int times)
{
	for (int i = 0; i < times; i++) {
		if (phase_is_over(b, phase))
			return true;
		cpu_relax();
	}
	return false;
}

static bool spin(struct barrier *b, uint32_t phase, int64_t begin)
{
	int64_t end = begin + load_relaxed(&b->budget);

	do {
		if (look(b, phase, LOOKS_PER_CLOCK))
			return true;
	} while (clock_now() < end);
	return false;
}

static bool yield(struct barrier *b, uint32_t phase, int64_t begin)
{
	for (int i = 0; i < YIELDS; i++) {
		int64_t now;

		sched_yield();
		if (phase_is_over(b, phase))
			return true;
		now = clock_now();
		if (now - begin > YIELD_LONG)
			return false;
		begin = now;
	}
	return false;
}

static void sleep_until_over(struct barrier *b, uint32_t phase)
{
	bool shared = b->flags & DROVER_BARRIER_SHARED;
	uint64_t gate = load_relaxed(&b->gate);

	while (gate_phase(gate) == phase) {
		/* [B-OPEN] In one step with the phase: see open_gate(). */
		if (!(gate & GATE_ASLEEP) &&
		    !cas_relaxed(&b->gate, &gate, gate | GATE_ASLEEP))
			continue;
		futex_wait(gate_word(b), phase | GATE_ASLEEP, NULL, shared);
		gate = load_relaxed(&b->gate);
	}
}

/* A wait that went to sleep has taken @ns in all. */
static void learn(struct barrier *b, int64_t ns)
{
	int64_t before = load_relaxed(&b->budget), budget;

	if (ns <= b->most) {
		budget = 2 * ns > before ? 2 * ns : before;
		budget = budget < b->most ? budget : b->most;
	} else {
		budget = before / 2;
		budget = budget > BUDGET_LEAST ? budget : BUDGET_LEAST;
		budget = budget < b->most ? budget : b->most;
	}
	if (budget != before)
		store_relaxed(&b->budget, (uint32_t)budget);
}

static void await_long(struct barrier *b, uint32_t phase)
{
	int64_t begin = clock_now();

	if (load_relaxed(&b->crowded)) {
		if (yield(b, phase, begin))
			return;
	} else if (spin(b, phase, begin)) {
		return;
	}
	sleep_until_over(b, phase);
	learn(b, clock_now() - begin);
	barrier_look_at_cpus(b);
}

void barrier_await(struct barrier *b, uint32_t phase)
{
	int looks = load_relaxed(&b->crowded) ? LOOKS_CROWDED : LOOKS;

	if (!look(b, phase, looks))
		await_long(b, phase);
	/* [B-OPEN] The polling above is relaxed; this acquires, once. */
	(void)load_acquire(&b->gate);
}
