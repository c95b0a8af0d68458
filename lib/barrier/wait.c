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
 * The gate of a pair is its word, see barrier_pair.c.
 *
 * The budget is learned. A wait that would have ended within the longest one
 * permitted raises it to twice its time, so the next one does not sleep; one
 * that would not have lowers it, so a program whose phases are long does not
 * burn CPU time for nothing. Foreign load makes waits of about a slice of the
 * scheduler's, a few milliseconds; to sleep or to yield then gives away the
 * CPU for another slice, so the longest budget is above that.
 *
 * Which of spin (or yield) and sleep is better depends on what else runs on the
 * machine, and nothing that one thread sees tells: to give the CPU away to
 * another program may cost a slice of it, or save one. So the openers of phases
 * try the other way, for a period of some milliseconds, and keep what takes less
 * time a phase: only while there are waits that are more than a few looks, and
 * less and less often as trials fail.
 *
 * The numbers are from the measurements in Documentation/benchmarks.rst.
 */
#include <sched.h>

#include "barrier/barrier.h"
#include "base/clock.h"
#include "base/cpus.h"

/* Looks at the gate for each at the clock. */
#define LOOKS_PER_CLOCK 32

#define BUDGET_LEAST (20 * NS_PER_US)
#define BUDGET_FIRST (1000 * NS_PER_US)
#define BUDGET_MOST  (5000 * NS_PER_US)

/*
 * How often a crowded thread yields. One that takes longer than a turn of a
 * thread of ours went to somebody else: no more of that in this wait.
 */
#define YIELDS	   20
#define YIELD_LONG (1000 * NS_PER_US)

/*
 * A period of the search for the best way. The first one and trials are longer,
 * since the kernel takes some time to move threads that spin apart. Trials are so
 * many periods apart.
 */
#define PERIOD	    (5000 * NS_PER_US)
#define TRIAL	    (15000 * NS_PER_US)
#define BAD_PERIODS 4
#define GAP_LEAST   16
#define GAP_MOST    512

/* A wait that is not due to the threads themselves, probably. */
#define BAD (500 * NS_PER_US)

static enum way usual_way(struct barrier *b)
{
	if (!b->most)
		return WAY_SLEEP;
	return load_relaxed(&b->crowded) ? WAY_YIELD : WAY_SPIN;
}

void barrier_look_at_cpus(struct barrier *b)
{
	uint32_t cpus = b->cpus ? b->cpus : cpus_usable();
	uint32_t crowded = load_relaxed(&b->count) > cpus;

	/* Waiting threads read them: write only what is new. */
	if (load_relaxed(&b->crowded) == crowded)
		return;
	store_relaxed(&b->crowded, crowded);
	store_relaxed(&b->way, usual_way(b));
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
	store_relaxed(&b->way, usual_way(b));
	b->tune.gap = GAP_LEAST;
}

/* ---- which way ---- */

static void change_way(struct barrier *b, struct tune *t)
{
	enum way way = load_relaxed(&b->way);

	store_relaxed(&b->way, way == WAY_SLEEP ? usual_way(b) : WAY_SLEEP);
	t->since = 0;
}

/*
 * A period of @ns is over. The usual way is left for a trial only if most of the
 * time went by in waits that were far too long, several times in a row: to sleep
 * pulls threads together on one CPU. The other way round a trial is due from time
 * to time.
 */
static void judge(struct barrier *b, struct tune *t, uint32_t nr_phases,
		  int64_t ns, int64_t bad_ns)
{
	enum way way = load_relaxed(&b->way), usual = usual_way(b);
	enum way other = way == WAY_SLEEP ? usual : WAY_SLEEP;
	int64_t cost = ns / nr_phases;

	t->cost[way] = t->trial || !t->cost[way] ?
			       cost :
			       (3 * t->cost[way] + cost) / 4;
	t->since++;
	t->nr_bad = bad_ns > ns / 2 ? t->nr_bad + 1 : 0;
	if (t->trial) {
		t->trial = false;
		if (t->cost[way] < t->cost[other]) {
			t->gap = GAP_LEAST;
			return;
		}
		t->gap = t->gap * 2 < GAP_MOST ? t->gap * 2 : GAP_MOST;
		change_way(b, t);
	} else if (way == usual ? t->nr_bad >= BAD_PERIODS :
				  t->since >= t->gap) {
		t->trial = true;
		change_way(b, t);
	}
}

static void tune(struct barrier *b, uint32_t phase, uint32_t bad_us)
{
	struct tune *t = &b->tune;
	int64_t now = clock_now();

	if (now - t->begin <
	    (t->trial || !t->cost[load_relaxed(&b->way)] ? TRIAL : PERIOD))
		return;
	if (t->begin)
		judge(b, t, (phase - t->phase) / GATE_PHASE ?: 1,
		      now - t->begin, (bad_us - t->period_bad) * NS_PER_US);
	t->begin = now;
	t->phase = phase;
	t->period_bad = bad_us;
}

void barrier_tune_now(struct barrier *b, uint32_t phase)
{
	struct tune *t = &b->tune;
	uint32_t bad_us = load_relaxed(&b->bad_us);

	store_relaxed(&t->seen_bad, bad_us);
	/* A pair's opener may be late: then the next one does without. */
	if (!b->most || swap_acquire(&t->busy, 1))
		return;
	tune(b, phase, bad_us);
	store_release(&t->busy, 0);
}

void barrier_tune_anew(struct barrier *b)
{
	struct tune *t = &b->tune;

	if (swap_acquire(&t->busy, 1))
		return;
	t->begin = 0;
	store_release(&t->busy, 0);
}

/* ---- waiting ---- */

static bool spin(struct barrier *b, barrier_word *gate, uint32_t phase,
		 int64_t begin)
{
	int64_t end = begin + load_relaxed(&b->budget);

	do {
		if (barrier_look(gate, phase, LOOKS_PER_CLOCK))
			return true;
	} while (clock_now() < end);
	return false;
}

static bool yield(barrier_word *gate, uint32_t phase, int64_t begin)
{
	for (int i = 0; i < YIELDS; i++) {
		int64_t now;

		sched_yield();
		if (phase_is_over(gate, phase))
			return true;
		now = clock_now();
		if (now - begin > YIELD_LONG)
			return false;
		begin = now;
	}
	return false;
}

static void sleep_until_over(struct barrier *b, barrier_word *gate,
			     uint32_t phase)
{
	bool shared = b->flags & DROVER_BARRIER_SHARED;
	uint64_t seen = load_relaxed(gate);

	while (gate_phase(seen) == phase) {
		/*
		 * [B-OPEN] [B-PAIR] In one step with the phase: see open_gate(),
		 * barrier_pair.c.
		 */
		if (!(seen & GATE_ASLEEP) &&
		    !cas_relaxed(gate, &seen, seen | GATE_ASLEEP))
			continue;
		futex_wait(gate_word(gate), phase | GATE_ASLEEP, NULL, shared);
		seen = load_relaxed(gate);
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

/* Waits until the gate opens; returns whether without sleeping. */
static bool wait_awake(struct barrier *b, barrier_word *gate, uint32_t phase,
		       int64_t begin)
{
	switch (load_relaxed(&b->way)) {
	case WAY_SPIN:
		return spin(b, gate, phase, begin);
	case WAY_YIELD:
		return yield(gate, phase, begin);
	default:
		return false;
	}
}

void barrier_await_long(struct barrier *b, barrier_word *gate, uint32_t phase)
{
	enum way way = load_relaxed(&b->way);
	int64_t begin = clock_now(), ns;
	bool awake = wait_awake(b, gate, phase, begin);

	if (!awake)
		sleep_until_over(b, gate, phase);
	ns = clock_now() - begin;
	if (!awake && way == WAY_SPIN)
		learn(b, ns);
	if (ns < BAD)
		return;
	/* Counted without care; the sum wraps. */
	store_relaxed(&b->bad_us,
		      load_relaxed(&b->bad_us) + (uint32_t)(ns / NS_PER_US));
	barrier_look_at_cpus(b);
}
