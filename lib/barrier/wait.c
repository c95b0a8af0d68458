// SPDX-License-Identifier: MIT
/*
 * How a thread waits at a barrier. This is the only place that decides it, and
 * it never affects correctness.
 *
 * The thread polls, and lets other threads run that want the CPU (base/poll.h).
 * Then it sleeps. The barrier learns how long to poll. A wait that slept, and
 * would have ended within the longest budget, raises the budget to twice its
 * time; a longer wait halves it. With foreign load a wait takes about one slice
 * of the scheduler, a few milliseconds, and a sleep would then give away the
 * CPU for another slice. So the longest budget is above that. Big and small
 * CPUs have a budget each.
 *
 * No file is read here: the stack may be small, and the time is short.
 */
#include <sched.h>
#include <sys/param.h>

#include "barrier/barrier.h"
#include "base/cpus.h"

#define BUDGET_LEAST (20 * NS_PER_US)
#define BUDGET_FIRST (1000 * NS_PER_US)
#define BUDGET_MOST  (5000 * NS_PER_US)

static int64_t most_of(const struct barrier *b)
{
	if (b->attr.spin_us == DROVER_BARRIER_NO_SPIN)
		return 1;
	return b->attr.spin_us ? MIN(b->attr.spin_us * NS_PER_US, UINT32_MAX) :
				 BUDGET_MOST;
}

/* A wait has spun for @before, then slept, and has taken @ns in all. */
static void learn(struct barrier *b, _Atomic uint32_t *budget, int64_t before,
		  int64_t ns)
{
	int64_t most = most_of(b);
	int64_t now = ns <= most ? MAX(2 * ns, before) :
				   MAX(before / 2, BUDGET_LEAST);

	now = MIN(now, most);
	if (now != before)
		store_relaxed(budget, (uint32_t)now);
}

struct awaited {
	struct barrier *b;
	uint32_t phase;
};

static bool poll_gate(void *arg)
{
	const struct awaited *a = arg;

	return phase_is_over(a->b, a->phase);
}

/*
 * Even where each thread may have a CPU, the last phase may have been opened on
 * the caller's CPU. Then a yield lets the missing thread run, so later polls
 * yield without delay, whatever yields have cost before.
 */
static void learn_turn(struct barrier *b, struct poll_account *a)
{
	if (a->turn &&
	    load_relaxed(&arrivals_of(b)->opened_on) == sched_getcpu() + 1)
		a->turn = 0;
}

/*
 * At a barrier of more threads than CPUs each thread learns, for itself:
 * @since: when it began to lose long turns by yields, or 0
 * @cpu: the CPU time of the process at that time
 * @until: when it may poll again; before that it sleeps at once
 */
static _Thread_local struct {
	int64_t since, cpu, until;
} losing;

/*
 * There are more threads than CPUs, and yields have given others long turns. If
 * the process has meanwhile used nearly all the time of its CPUs, the others
 * were threads of the barrier, and yielding to them was right. Otherwise other
 * processes have used CPUs. A thread that yields to another process loses its
 * CPU for a slice of the scheduler. A thread that sleeps uses less than its
 * share, so it gets a CPU as soon as it is woken. So for POLL_IN_VAIN times the
 * time lost the thread sleeps at once instead of polling.
 */
static void learn_lost(struct barrier *b, struct poll_account *a)
{
	int64_t now, cpu, all;

	/*
	 * At a shared barrier the CPU time of all processes that use it would
	 * count, not only that of this process.
	 */
	if (!a->lost || barrier_is_shared(b)) {
		a->lost = 0;
		losing.since = 0;
		return;
	}
	if (losing.since && a->lost < POLL_MOST_LOST)
		return;
	now = clock_now();
	cpu = clock_read(CLOCK_PROCESS_CPUTIME_ID);
	if (losing.since) {
		all = (now - losing.since) * poll_cpus();
		if (cpu - losing.cpu < all - all / 8)
			losing.until = now + POLL_IN_VAIN * a->lost;
		a->lost = 0;
		losing.since = 0;
		return;
	}
	losing.since = now;
	losing.cpu = cpu;
}

void barrier_await_long(struct barrier *b, uint32_t phase,
			const struct deadline *deadline)
{
	struct poll_account *a = &thread_this.for_barriers;
	struct awaited awaited = { b, phase };
	_Atomic uint32_t *budget = &b->budget[cpu_is_small(sched_getcpu())];
	int64_t ns = load_relaxed(budget), left = time_left(deadline);
	int64_t begin = clock_now();
	uint64_t seen;
	long ret = 0;

	if (!ns)
		ns = MIN(most_of(b), BUDGET_FIRST);
	if (begin >= losing.until && poll_for(a, poll_gate, &awaited, ns, left,
					      load_relaxed(&b->count))) {
		learn_turn(b, a);
		if (a->lost)
			learn_lost(b, a);
		return;
	}
	seen = load_relaxed(&b->gate);
	while (gate_phase(seen) == phase && ret != -ETIMEDOUT) {
		/*
		 * [B-OPEN] Sets ASLEEP in the same step as it checks the phase:
		 * see open_gate().
		 */
		if (!(seen & GATE_ASLEEP) &&
		    !cas_relaxed(&b->gate, &seen, seen | GATE_ASLEEP))
			continue;
		ret = sleep_on(LOW_HALF(&b->gate), phase | GATE_ASLEEP,
			       deadline, barrier_is_shared(b),
			       FUTEX_BITSET_MATCH_ANY, a);
		seen = load_relaxed(&b->gate);
	}
	learn_turn(b, a);
	if (begin < losing.until) /* it has not polled: nothing to learn */
		return;
	if (!deadline)
		learn(b, budget, ns, clock_now() - begin);
	learn_lost(b, a);
}
