/* SPDX-License-Identifier: MIT */
/*
 * drover_barrier_t inside.
 *
 * Arrivals are counted and never reset. The gate says up to which count the
 * present phase reaches, so an arrival knows by the number it gets whether it
 * is early, completes the phase, or belongs to a later one. The gate is one
 * 64-bit word, and the low half is the futex word:
 *
 *   bit  0	GATE_ASLEEP	somebody may be asleep
 *   bits 1-31	phase		wraps
 *   bits 32-63	target		the number of the phase's last arrival; wraps
 *
 * Legal transitions, each one atomic step:
 *
 *   open	phase + 1, target + threads of the next phase, - ASLEEP
 *					by the phase's last arrival, once
 *   sleep	+ ASLEEP		by a waiting thread of this phase
 *   recount	target alone		by set_count(), when nobody has arrived
 *
 * Whoever opens learns in the same step whether anybody may be asleep, so no
 * second word has to be looked at; and a thread sleeps only while the kernel
 * finds the word as it left it, with ASLEEP set.
 *
 * Bounds: 2^28 threads. A thread is delayed between its load of the gate and
 * its system call or its next look while the phase wraps, 2^31 phases: it then
 * waits for one phase more.
 */
#ifndef DROVER_BARRIER_INTERNAL_H
#define DROVER_BARRIER_INTERNAL_H

#include <drover/barrier.h>
#include <stdbool.h>

#include "futex.h"
#include "waiter.h"

/* Apart by two lines: processors fetch them in pairs. */
#define BARRIER_LINE 128

#define GATE_ASLEEP 1u
#define GATE_PHASE  2u /* one phase more */

#define gate_phase(gate)  ((uint32_t)(gate) & ~GATE_ASLEEP)
#define gate_target(gate) ((uint32_t)((gate) >> 32))
#define gate_of(phase, target) \
	((uint64_t)(target) << 32 | ((phase) & ~GATE_ASLEEP))

/* One more arrival; the low half counts those that are not to come again. */
#define ARRIVAL (UINT64_C(1) << 32)
#define DROP	UINT64_C(1)

#define nr_arrived(arrived) ((uint32_t)((arrived) >> 32))
#define nr_dropped(arrived) ((uint32_t)(arrived))

/* A phase for the user: bit 0 says that it is counted in tickets. */
#define PHASE_COUNTED 1u

/* Ways to wait, after some looks. */
enum way {
	WAY_SPIN,  /* up to the budget, then sleep */
	WAY_YIELD, /* some times, then sleep */
	WAY_SLEEP, /* at once */
	NR_WAYS
};

/**
 * struct tune - which way is the best one; touched by the openers of phases
 *
 * Only from time to time, or the line would go from opener to opener.
 *
 * @begin: when the present period began, ns
 * @phase: the one that was complete then
 * @seen_bad: struct barrier's bad_us at the last look
 * @period_bad: and when the period began
 * @cost: ns for each phase, of each way; 0: not tried
 * @gap: periods from one trial of the other way to the next
 * @since: periods since the last one
 * @nr_bad: periods in a row in which most of the time went by in bad waits
 * @trial: this period is one
 */
struct tune {
	int64_t begin;
	uint32_t phase;
	uint32_t seen_bad;
	uint32_t period_bad;
	uint32_t gap;
	uint32_t since;
	uint32_t nr_bad;
	bool trial;
	int64_t cost[NR_WAYS];
};

/**
 * struct barrier - the inside of drover_barrier_t
 *
 * What waiting threads read, and the thread that opens writes:
 * @gate: see above
 * @count: threads of a phase, before any dropped; 0: not a barrier
 * @flags: DROVER_BARRIER_*; constant
 * @crowded: more threads than CPUs; a guess, which only the waiting uses
 * @way: how threads wait just now, an enum way
 * @completion, @arg: as the attributes have them; constant
 *
 * What arriving threads write:
 * @arrived: ARRIVAL for each arrival, DROP for each that was the last of a
 *	     thread since count was set
 * @begin: number of the last arrival before a phase, for even and odd phases.
 *	   Written for the next phase before the gate opens to it; here, since
 *	   on the gate's line those that poll would take it away in between
 *
 * The rest, which threads that just arrive and wait hardly ever write:
 * @tickets: phases handed out and not yet waited for, and, for a shared
 *	     barrier or a thread that the library can't list, threads inside
 * @budget: how long a wait may spin just now, ns; learned
 * @most: and at most, ns; constant
 * @cpus: CPUs for the threads, 0: to be found out; constant
 * @bad_us: time in waits that were far too long; wraps
 * @tune: what ways of waiting have cost; [the opener of a phase]
 */
struct barrier {
	_Atomic uint64_t gate;
	_Atomic uint32_t count;
	uint32_t flags;
	_Atomic uint32_t crowded;
	_Atomic uint32_t way;
	void (*completion)(void *arg);
	void *arg;
	char gap[BARRIER_LINE - 24 - 2 * sizeof(void *)];

	_Atomic uint64_t arrived;
	_Atomic uint32_t begin[2];
	char gap2[BARRIER_LINE - 16];

	_Atomic uint32_t tickets;
	_Atomic uint32_t budget;
	uint32_t most;
	uint32_t cpus;
	_Atomic uint32_t bad_us;
	struct tune tune;
};

/*
 * The user's memory may begin anywhere: the barrier is where the first line of
 * it does. That is the same place in every mapping of it.
 */
static inline struct barrier *barrier_of(drover_barrier_t *barrier)
{
	return (struct barrier *)(((uintptr_t)barrier + 63) & ~(uintptr_t)63);
}

static inline futex_word *gate_word(struct barrier *b)
{
	return (futex_word *)&b->gate +
	       (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

static inline bool phase_is_over(struct barrier *b, uint32_t phase)
{
	return gate_phase(load_relaxed(&b->gate)) != phase;
}

/* Set how long waits of @b may spin, and whether its threads are crowded. */
void barrier_wait_init(struct barrier *b, uint32_t spin_us);
void barrier_look_at_cpus(struct barrier *b);

/* @phase is complete: its opener finds out what waiting has cost. */
void barrier_tune(struct barrier *b, uint32_t phase);

/* Wait until @phase is over: see what was done before it. barrier_wait.c */
void barrier_await(struct barrier *b, uint32_t phase);

#endif /* DROVER_BARRIER_INTERNAL_H */
