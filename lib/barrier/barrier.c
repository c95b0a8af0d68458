// SPDX-License-Identifier: MIT
/*
 * drover_barrier_t: which thread arrives in which phase, and which opens the
 * gate.
 */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <string.h>

#include "barrier/barrier.h"
#include "base/cpus.h"
#include "base/pause.h"

#define SAME_PLACE(field) \
	(offsetof(struct barrier, field) == offsetof(drover_barrier_t, field))

_Static_assert(SAME_PLACE(gate) && SAME_PLACE(count) && SAME_PLACE(unused),
	       "the initialiser sets them");
_Static_assert(offsetof(struct barrier, far) == 64 + BARRIER_LINE,
	       "lines apart");
_Static_assert(offsetof(struct barrier, tickets) == 64 + 2 * BARRIER_LINE,
	       "lines apart");
_Static_assert(sizeof(struct barrier) + 64 <= sizeof(drover_barrier_t),
	       "and from those of the user's neighbours");

/*
 * After this time destroy() takes threads that are inside a shared barrier for
 * dead.
 */
#define SHARED_PATIENCE (2 * NS_PER_S)

static _Atomic uint32_t *begin_of(struct barrier *b, uint32_t phase)
{
	return &arrivals_of(b)->begin[phase / GATE_PHASE & 1];
}

/*
 * All threads have arrived; @arrived is the final count. Let them go. As soon
 * as the gate is open, another thread may destroy the barrier and free the
 * memory, unless a thread is known to be inside. The caller may not be known to
 * be inside: a completion function that used another barrier has overwritten
 * the caller's "inside". So after the swap only the address of the gate is
 * used.
 */
static void open_gate(struct barrier *b, uint32_t phase, uint64_t arrived)
{
	uint32_t last = nr_arrived(arrived);
	uint32_t next = load_relaxed(&b->count) - nr_dropped(arrived);
	bool shared = barrier_is_shared(b);
	uint64_t old;

	if (b->attr.completion)
		b->attr.completion(b->attr.arg);
	phase += GATE_PHASE;
	store_release(begin_of(b, phase), last); /* [B-BEGIN] */
	store_relaxed(&arrivals_of(b)->opened_on, sched_getcpu() + 1);
	/*
	 * [B-OPEN] Releases everything that was done before the phase's
	 * arrivals, which the last arrival has acquired. Pairs with the acquire
	 * load at the end of barrier_await(). The swap also tells whether
	 * ASLEEP was set, in one step: otherwise a thread could fall asleep in
	 * between. Model: barrier.pml
	 */
	old = swap_acq_rel(&b->gate, gate_of(phase, last + next));
	if (old & GATE_ASLEEP)
		wake_sleepers(LOW_HALF(&b->gate), INT_MAX, shared);
}

/*
 * Arrive once: add @more to the arrivals. Return: the result, and in @phase the
 * phase to wait for. An arrival beyond the target waits for its turn: there are
 * more threads than the barrier counts.
 */
static inline int arrive_one(struct barrier *b, uint64_t more, uint32_t *phase)
{
	/* [B-BEGIN] For an arrival beyond the target of its phase. */
	uint64_t gate = load_acquire(&b->gate);
	/*
	 * [B-ARRIVE] Each arrival is released to the last one, which acquires.
	 */
	uint64_t arrived = add_acq_rel(&arrivals_of(b)->arrived, more) + more;
	uint32_t mine = nr_arrived(arrived), begin;

	while (unlikely((int32_t)(mine - gate_target(gate)) > 0)) {
		begin = load_relaxed(begin_of(b, gate_phase(gate)));
		if (begin == gate_target(gate)) { /* all have dropped out */
			sub_release(&arrivals_of(b)->arrived, more);
			return EINVAL;
		}
		barrier_await(b, gate_phase(gate));
		/*
		 * [B-BEGIN] If the phase is over, @begin may belong to the
		 * phase after the next one: look again.
		 */
		do {
			gate = load_acquire(&b->gate);
			begin = load_acquire(begin_of(b, gate_phase(gate)));
		} while (phase_is_over(b, gate_phase(gate)));
		if ((int32_t)(mine - begin) <= 0) { /* it is over already */
			*phase = gate_phase(gate) - GATE_PHASE;
			return 0;
		}
	}
	*phase = gate_phase(gate);
	if (likely(mine != gate_target(gate)))
		return 0;
	open_gate(b, *phase, arrived);
	return DROVER_BARRIER_SERIAL;
}

/* Arrive @nr times in one phase, or not at all. */
static int arrive_many(struct barrier *b, uint32_t nr, uint32_t *phase)
{
	_Atomic uint64_t *at = &arrivals_of(b)->arrived;
	uint64_t gate = load_acquire(&b->gate);
	uint64_t arrived = load_relaxed(at), to;

	*phase = gate_phase(gate);
	do {
		if ((int32_t)(gate_target(gate) - nr_arrived(arrived)) <
		    (int64_t)nr)
			return EOVERFLOW;
		to = arrived + nr * ARRIVAL;
	} while (!cas_acq_rel(at, &arrived, to)); /* [B-ARRIVE] */
	if (nr_arrived(to) != gate_target(gate))
		return 0;
	open_gate(b, *phase, to);
	return DROVER_BARRIER_SERIAL;
}

/*
 * Is the caller the only thread? Then no thread waits for the phase, and the
 * phase need not change. With a completion function the phase does change. So
 * the function's calls come one after the other even if more threads use the
 * barrier than it counts.
 */
static bool is_alone(struct barrier *b)
{
	return load_relaxed(&b->count) == 1 && !b->attr.completion &&
	       !barrier_is_shared(b) &&
	       !nr_dropped(load_relaxed(&b->far.arrived));
}

int drover_barrier_init(drover_barrier_t *barrier, unsigned int count,
			const drover_barrierattr_t *attr)
{
	static const drover_barrierattr_t defaults;
	struct barrier *b = (struct barrier *)barrier;

	debug_pointer(barrier, _Alignof(drover_barrier_t), "barrier", __func__);
	if (!attr)
		attr = &defaults;
	if (!count || count > DROVER_BARRIER_MAX ||
	    attr->flags & ~DROVER_BARRIER_SHARED || attr->reserved[0] ||
	    attr->reserved[1])
		return EINVAL;
	/* Another process has no such function at that address. */
	if (attr->completion && attr->flags & DROVER_BARRIER_SHARED)
		return EINVAL;
	memset(b, 0, sizeof(*barrier));
	store_relaxed(&b->gate, gate_of(0, count));
	store_relaxed(&b->count, count);
	b->attr = *attr;
	cpus_look_at_sizes();
	return 0;
}

/* Return: the barrier, or NULL if it is destroyed or its memory is all zero. */
static inline struct barrier *barrier_of(drover_barrier_t *barrier,
					 const char *call)
{
	struct barrier *b = (struct barrier *)barrier;

	debug_pointer(barrier, _Alignof(drover_barrier_t), "barrier", call);
	if (likely(load_relaxed(&b->count)))
		return b;
	debug_wrong(b, "barrier",
		    "was never initialised, or is destroyed: initialise it "
		    "before it is used",
		    call);
	return NULL;
}

/* Has no thread arrived in the present phase? */
static bool is_between(struct barrier *b)
{
	uint64_t gate = load_acquire(&b->gate);
	uint32_t begin = load_relaxed(begin_of(b, gate_phase(gate)));

	return nr_arrived(load_relaxed(&arrivals_of(b)->arrived)) == begin;
}

int drover_barrier_destroy(drover_barrier_t *barrier)
{
	struct barrier *b = barrier_of(barrier, __func__);
	int64_t patience = clock_now() + SHARED_PATIENCE;

	if (!b)
		return EINVAL;
	if (!is_between(b)) {
		debug_wrong(b, "barrier",
			    "has threads waiting: let them through before it "
			    "is destroyed",
			    __func__);
		return EBUSY;
	}
	for (unsigned int i = 0; load_acquire(&b->tickets); i++) {
		if (barrier_is_shared(b) && clock_now() > patience)
			break;
		thread_pause(i);
	}
	/*
	 * This waits for each thread that was inside when the loop began.
	 */
	for (unsigned int i = 0; waiter_is_inside(b); i++)
		thread_pause(i);
	store_relaxed(&b->count, 0);
	return 0;
}

/* Not inline, so that a thread that is alone need not save registers for it. */
static APART HOT int wait_together(struct barrier *b)
{
	bool counted = barrier_enter(b);
	uint32_t phase;
	int ret = arrive_one(b, ARRIVAL, &phase);

	if (!ret)
		barrier_await(b, phase);
	barrier_leave(b, counted);
	return ret;
}

int drover_barrier_wait(drover_barrier_t *barrier)
{
	struct barrier *b = barrier_of(barrier, __func__);

	if (unlikely(!b))
		return EINVAL;
	return is_alone(b) ? DROVER_BARRIER_SERIAL : wait_together(b);
}

/* Arrive @nr times; the last arrival has @drop. */
static int arrive(struct barrier *b, unsigned int nr, uint64_t drop,
		  drover_phase_t *phase)
{
	bool counted = barrier_enter(b);
	uint32_t arrived_in;
	int ret;

	/* Counted before the arrival: destroy() may come right after that. */
	if (phase)
		add_relaxed(&b->tickets, 1);
	ret = nr > 1 ? arrive_many(b, nr, &arrived_in) :
		       arrive_one(b, ARRIVAL + drop, &arrived_in);
	if (phase && ret > 0)
		sub_release(&b->tickets, 1); /* [B-LEAVE] */
	else if (phase)
		*phase = arrived_in;
	barrier_leave(b, counted);
	return ret;
}

int drover_barrier_arrive(drover_barrier_t *barrier, unsigned int nr,
			  drover_phase_t *phase)
{
	struct barrier *b = barrier_of(barrier, __func__);

	return b && nr ? arrive(b, nr, 0, phase) : EINVAL;
}

int drover_barrier_arrive_and_drop(drover_barrier_t *barrier)
{
	struct barrier *b = barrier_of(barrier, __func__);

	return b ? arrive(b, 1, DROP, NULL) : EINVAL;
}

int drover_barrier_wait_for(drover_barrier_t *barrier, drover_phase_t phase)
{
	struct barrier *b = (struct barrier *)barrier;

	barrier_await(b, gate_phase(phase));
	return drover_barrier_forget(barrier, phase);
}

int drover_barrier_wait_until(drover_barrier_t *barrier, drover_phase_t phase,
			      clockid_t clock, const struct timespec *deadline)
{
	struct deadline until = { .clock = clock, .at = *deadline };
	struct barrier *b = (struct barrier *)barrier;

	if (!deadline_valid(&until))
		return EINVAL;
	if (!phase_is_over(b, gate_phase(phase)))
		barrier_await_long(b, gate_phase(phase), &until);
	return drover_barrier_test(barrier, phase) ? ETIMEDOUT : 0;
}

int drover_barrier_test(drover_barrier_t *barrier, drover_phase_t phase)
{
	struct barrier *b = (struct barrier *)barrier;

	if (gate_phase(load_acquire(&b->gate)) == phase) /* [B-OPEN] */
		return EINPROGRESS;
	return drover_barrier_forget(barrier, phase);
}

int drover_barrier_forget(drover_barrier_t *barrier, drover_phase_t phase)
{
	struct barrier *b = (struct barrier *)barrier;

	(void)phase;
	sub_release(&b->tickets, 1); /* [B-LEAVE] */
	return 0;
}

int drover_barrier_set_count(drover_barrier_t *barrier, unsigned int count)
{
	struct barrier *b = barrier_of(barrier, __func__);
	uint64_t gate, arrived;

	if (!b || !count || count > DROVER_BARRIER_MAX)
		return EINVAL;
	if (!is_between(b))
		return EBUSY;
	gate = load_acquire(&b->gate);
	arrived = load_relaxed(&arrivals_of(b)->arrived);
	/* Threads that are leaving look only at the phase, which stays. */
	store_relaxed(&b->count, count);
	store_relaxed(&arrivals_of(b)->arrived, arrived - nr_dropped(arrived));
	store_relaxed(begin_of(b, gate_phase(gate)), nr_arrived(arrived));
	store_release(&b->gate,
		      gate_of((uint32_t)gate, nr_arrived(arrived) + count));
	return 0;
}
