/* SPDX-License-Identifier: MIT */
/*
 * drover_barrier_t inside.
 *
 * Arrivals are counted, and the count is never reset. The gate says up to which
 * count the present phase reaches. So an arrival knows by its number whether it
 * is early, completes the phase, or belongs to a later one. The gate is one
 * 64-bit word, whose low half is the futex word:
 *
 *   bit  0	GATE_ASLEEP	a thread may be asleep
 *   bits 1-31	phase		wraps
 *   bits 32-63	target		the number of the phase's last arrival; wraps
 *
 * Legal transitions, each one atomic step:
 *
 *   open	phase + 1, target + threads of the next phase, - ASLEEP
 *					by the phase's last arrival, once
 *   sleep	+ ASLEEP		by a waiting thread of this phase
 *   recount	target alone		by set_count(), before any arrival
 *
 * The thread that opens learns in the same step whether any may be asleep, so
 * it need not look at a second word. The kernel lets a thread sleep only if the
 * futex word is as the thread left it, with ASLEEP set.
 *
 * Bounds: 2^28 threads. If a thread is delayed between its load of the gate and
 * its system call or next look, and the phase wraps meanwhile (2^31 phases), it
 * waits for one phase more.
 */
#ifndef DROVER_BARRIER_INTERNAL_H
#define DROVER_BARRIER_INTERNAL_H

#include <drover/barrier.h>
#include <errno.h>
#include <stdbool.h>

#include "base/compiler.h"
#include "base/debug.h"
#include "base/futex.h"
#include "base/waiter.h"

/* Apart by two lines: processors fetch them in pairs. */
#define BARRIER_LINE 128

#define GATE_ASLEEP 1u
#define GATE_PHASE  2u /* one phase more */

#define gate_phase(gate)  ((uint32_t)(gate) & ~GATE_ASLEEP)
#define gate_target(gate) ((uint32_t)((gate) >> 32))
#define gate_of(phase, target) \
	((uint64_t)(target) << 32 | ((phase) & ~GATE_ASLEEP))

/* One more arrival; the low half counts threads that will not come again. */
#define ARRIVAL (UINT64_C(1) << 32)
#define DROP	UINT64_C(1)

#define nr_arrived(arrived) ((uint32_t)((arrived) >> 32))
#define nr_dropped(arrived) ((uint32_t)(arrived))

/* The part that arriving threads write. */
struct arrivals {
	/*
	 * An ARRIVAL for each arrival, and a DROP for each thread that has
	 * dropped out since the count was set.
	 */
	_Atomic uint64_t arrived;
	/*
	 * Number of the last arrival before a phase, for even and odd phases.
	 * Written for the next phase before the gate opens to it. [B-BEGIN]
	 */
	_Atomic uint32_t begin[2];
	/* The CPU on which a phase was opened last, plus 1; 0: not known */
	_Atomic int32_t opened_on;
	uint32_t pad;
};

/*
 * The inside of drover_barrier_t. An initialiser sets gate, count and unused.
 */
struct barrier {
	char before[64]; /* the user's neighbour may write there */

	/* Waiting threads read these, and the thread that opens writes them: */
	_Atomic uint64_t gate;	   /* see above */
	_Atomic uint32_t count;	   /* with those dropped; 0: not a barrier */
	uint32_t unused;	   /* the initialiser sets it */
	struct arrivals near;	   /* of two threads */
	drover_barrierattr_t attr; /* constant */
	char gap[BARRIER_LINE - 40 - sizeof(drover_barrierattr_t)];

	/*
	 * If there are more than two threads, they arrive here. On the gate's
	 * line each arrival would take the line from all threads that poll, and
	 * these would take it from the thread that opens.
	 */
	struct arrivals far;
	char gap2[BARRIER_LINE - 24];

	/*
	 * Hardly ever written. Counts the phases that were handed out and not
	 * yet waited for. Also counts each thread inside, if the barrier is
	 * shared or the library cannot list the thread.
	 */
	_Atomic uint32_t tickets;
	/*
	 * How long a wait may spin, in ns, on big and small CPUs; learned; 0:
	 * not yet
	 */
	_Atomic uint32_t budget[2];
};

static inline bool barrier_is_shared(const struct barrier *b)
{
	return b->attr.flags & DROVER_BARRIER_SHARED;
}

static inline struct arrivals *arrivals_of(struct barrier *b)
{
	return load_relaxed(&b->count) == 2 ? &b->near : &b->far;
}

static inline bool phase_is_over(struct barrier *b, uint32_t phase)
{
	return gate_phase(load_relaxed(&b->gate)) != phase;
}

/*
 * A thread is inside from before its arrival until it no longer uses the
 * barrier. destroy() waits for threads that are inside. A call of destroy()
 * comes after the last phase, and the phase comes after its arrivals. So
 * destroy() sees every thread that was inside then; and a thread that has left
 * [B-LEAVE] is done. This costs two plain stores, unless destroy() could not
 * find the thread.
 */
static inline bool barrier_enter(struct barrier *b)
{
	struct waiter *w = waiter_self();

	if (unlikely(!w || barrier_is_shared(b))) {
		add_relaxed(&b->tickets, 1);
		return true;
	}
	store_relaxed(&w->inside, b);
	return false;
}

static inline void barrier_leave(struct barrier *b, bool counted)
{
	if (unlikely(counted))
		sub_release(&b->tickets, 1); /* [B-LEAVE] */
	else
		/* [B-LEAVE] */
		store_release(&thread_this.waiter->inside, NULL);
}

/* ---- wait.c ---- */

/* Wait until @phase is over or @deadline has come. NULL: no deadline. */
APART void barrier_await_long(struct barrier *b, uint32_t phase,
			      const struct deadline *deadline);

/*
 * Wait until @phase is over. The caller sees everything that was done before.
 */
static inline void barrier_await(struct barrier *b, uint32_t phase)
{
	if (!phase_is_over(b, phase))
		barrier_await_long(b, phase, NULL);
	/* [B-OPEN] The polls are relaxed; this load acquires, once. */
	(void)load_acquire(&b->gate);
}

#endif /* DROVER_BARRIER_INTERNAL_H */
