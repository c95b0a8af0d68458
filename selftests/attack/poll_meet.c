// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that wait for each other, as at a barrier, poll for longer than the
 * thread's account allows, and yield only if that helps them.
 */
#include <drover/barrier.h>

#include "base/thread.h"
#include "polling.h"

#define NR_RESULTS 9
#define BRIEF_NS   6000 /* not a long turn */
#define NR_BRIEF   10	/* brief turns until a deadline */
#define MEET_NS	   1000000
#define SOON_NS	   50000 /* of CPU time */
#define NR_MEETS   60
#define NR_PHASES  50
#define NR_FEW	   2 /* no more threads than CPUs, of which there are several */
#define NR_MANY	   1000000

/*
 * The percentage of its CPUs that the process seems to have used; 0: no fake.
 */
static int64_t share;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	bool fakes = share && clock == CLOCK_PROCESS_CPUTIME_ID;
	int64_t ns;
	int ret = syscall(SYS_clock_gettime, fakes ? CLOCK_MONOTONIC : clock,
			  now);

	if (fakes) {
		ns = (now->tv_sec * NS_PER_S + now->tv_nsec) / 100 * share *
		     poll_cpus();
		now->tv_sec = ns / NS_PER_S;
		now->tv_nsec = ns % NS_PER_S;
	}
	return ret;
}

/* Return: how often a thread yields that polls for a millisecond. */
static int yields_of(struct poll_account *a, uint32_t nr_meet)
{
	nr_yields = 0;
	poll_for(a, never_comes, NULL, MEET_NS, INT64_MAX, nr_meet);
	return nr_yields;
}

static bool comes_soon(void *unused)
{
	return comes_late(unused);
}

/*
 * Return: how often a thread yields in several waits that last a moment each.
 */
static int yields_of_many(struct poll_account *a, uint32_t nr_meet)
{
	nr_yields = 0;
	for (int i = 0; i < NR_MEETS; i++) {
		comes_at = ns_of(CLOCK_THREAD_CPUTIME_ID) + SOON_NS;
		poll_for(a, comes_soon, NULL, SLICE_NS, INT64_MAX, nr_meet);
	}
	return nr_yields;
}

/*
 * In the midst of the poll other threads have the CPU for a while. The sleep
 * stands for that preemption, and synchronises nothing.
 */
static bool comes_after_preemption(void *unused)
{
	struct timespec away = { .tv_nsec = SLICE_NS };

	if (++nr_polls == 3)
		nanosleep(&away, NULL);
	return comes_late(unused);
}

/* At each yield a thread that computes has the CPU for a time slice. */
static void test_meet_beside_others(void)
{
	struct poll_account a = { 0 };
	int few, many;

	watchdog("waits beside others");
	poll_limit(100);
	yield_ns = SLICE_NS;
	few = yields_of_many(&a, NR_FEW);
	many = yields_of_many(&(struct poll_account){ 0 }, NR_MANY);
	tap_ok(few <= NR_MEETS / 20 && many >= NR_MEETS / 2,
	       "beside others, %d yields in %d waits if each has a CPU, "
	       "%d if not",
	       few, NR_MEETS, many);
	tap_ok(a.turn > SOON_NS, "beside others a yield costs %d us",
	       a.turn / 1000);
	nr_yields = nr_polls = 0;
	a.turn = SLICE_NS / 2; /* less than the preemption takes */
	comes_at = ns_of(CLOCK_THREAD_CPUTIME_ID) + SOON_NS;
	poll_for(&a, comes_after_preemption, NULL, SLICE_NS, INT64_MAX, NR_FEW);
	tap_is(nr_yields, 0, "a thread does not yield after a preemption");
	yield_ns = 0;
	a.turn = LATE_NS; /* less than a wait, whatever a yield has cost */
	for (int i = 0; i < NR_TIMES && a.turn >= SOON_NS; i++)
		yields_of(&a, NR_FEW);
	tap_ok(a.turn < SOON_NS, "a thread learns that yields cost nothing");
	/* A barrier counts from 0 what its threads lose to others. */
	comes_at = 0;
	poll_for(&a, comes_late, NULL, SLICE_NS, INT64_MAX, NR_FEW);
	tap_is(a.lost, 0, "a poll that pays pays nothing in advance");
}

/* ---- on which CPU a phase is opened ---- */

static drover_barrier_t barrier;
static atomic_int nr_met;

static void *meet_later(void *set)
{
	sched_setaffinity(0, sizeof(cpu_set_t), set);
	for (int i = 1; i <= NR_PHASES; i++) {
		reached(&nr_met, i);
		drover_barrier_wait(&barrier);
	}
	return NULL;
}

/* Return: how often a phase makes the thread take yields for free. */
static int nr_learned(const cpu_set_t *own, cpu_set_t *of_other)
{
	int32_t *turn = &thread_this.for_barriers.turn;
	cpu_set_t before = own_cpus();
	pthread_t other;
	int nr = 0;

	nr_met = 0;
	MUST(drover_barrier_init(&barrier, 2, NULL));
	sched_setaffinity(0, sizeof(*own), own);
	other = thread_of(meet_later, of_other);
	for (int i = 0; i < NR_PHASES; i++) {
		*turn = LATE_NS;
		nr_met++;
		drover_barrier_wait(&barrier);
		nr += *turn == 0;
	}
	joined(other);
	sched_setaffinity(0, sizeof(before), &before);
	MUST(drover_barrier_destroy(&barrier));
	return nr;
}

static void test_own_cpu(void)
{
	cpu_set_t one = one_cpu(), rest = own_cpus();
	int same, apart;

	watchdog("the CPU on which a phase is opened");
	poll_limit(100);
	yield_ns = -1;
	CPU_XOR(&rest, &rest, &one);
	same = nr_learned(&one, &one);
	apart = nr_learned(&one, &rest);
	tap_ok(same && !apart,
	       "a phase that is opened on the own CPU makes a yield free "
	       "%d times, one of another CPU %d times",
	       same, apart);
}

/*
 * Return: how often a thread yields in NR_PHASES waits of @ns each, if there
 * are more threads than CPUs.
 */
static int yields_of_many_threads(int64_t of_cpus, int64_t ns)
{
	struct timespec soon;
	drover_phase_t phase;

	share = of_cpus;
	nr_yields = 0;
	MUST(drover_barrier_init(&barrier, NR_MANY, NULL));
	for (int i = 0; i < NR_PHASES; i++) {
		drover_barrier_arrive(&barrier, 1, &phase);
		soon = deadline_in(CLOCK_MONOTONIC, ns);
		drover_barrier_wait_until(&barrier, phase, CLOCK_MONOTONIC,
					  &soon);
		drover_barrier_test(&barrier, phase);
	}
	share = 0;
	barrier = (drover_barrier_t)DROVER_BARRIER_INITIALIZER(1);
	return nr_yields;
}

static void test_long_turns(void)
{
	int of_others, own, brief;

	watchdog("long turns");
	poll_limit(100);
	yield_ns = SLICE_NS;
	own = yields_of_many_threads(100, 2 * SLICE_NS);
	yield_ns = BRIEF_NS;
	brief = yields_of_many_threads(100, NR_BRIEF * BRIEF_NS);
	yield_ns = SLICE_NS;
	/* Last: the thread sleeps at once for a while. */
	of_others = yields_of_many_threads(50, 2 * SLICE_NS);
	yield_ns = 0;
	tap_ok(of_others <= NR_PHASES / 2 && own >= NR_PHASES,
	       "long turns: %d yields in %d waits if others use CPUs, else %d",
	       of_others, NR_PHASES, own);
	tap_ok(brief <= NR_PHASES * (NR_BRIEF + 2),
	       "a deadline ends the yields of a wait, %d in all", brief);
}

/* Return: the longest of a few polls, as others may take CPU time from one. */
static int64_t longest(uint32_t nr_meet)
{
	int64_t begin, most = 0;

	for (int i = 0; i < 20; i++) {
		struct poll_account a = { 0 };

		begin = ns_of(CLOCK_THREAD_CPUTIME_ID);
		yields_of(&a, nr_meet);
		begin = ns_of(CLOCK_THREAD_CPUTIME_ID) - begin;
		most = begin > most ? begin : most;
	}
	return most;
}

static void test_real_time(void)
{
	const struct sched_param least = { .sched_priority = 1 }, none = { 0 };
	int64_t few, many;

	if (sched_setscheduler(0, SCHED_FIFO, &least)) {
		tap_skip("real-time threads", "SCHED_FIFO is not permitted");
		return;
	}
	poll_limit(100);
	few = longest(NR_FEW);
	many = longest(NR_MANY);
	sched_setscheduler(0, SCHED_OTHER, &none);
	tap_ok(few > MEET_NS / 2 && many < MEET_NS / 2,
	       "real-time threads poll %ld us if each has a CPU, %ld us if not",
	       (long)few / 1000, (long)many / 1000);
}

/*
 * Let the library measure that a sleep costs little. Then a brief yield also
 * costs little of the time for which a thread may poll, so only a deadline ends
 * its polls soon.
 */
static void make_sleeps_cheap(void)
{
	for (int i = 0; i < 10 * NR_TIMES; i++)
		sleep_once(&(struct poll_account){ 0 });
}

int main(void)
{
	tap_plan(NR_RESULTS);
	watchdog("polls");
	if (poll_has_cpu()) {
		/* First: it needs sleeps of the usual cost. */
		test_real_time();
		make_sleeps_cheap();
		test_meet_beside_others();
		test_own_cpu();
		test_long_turns();
	} else {
		tap_skip_all(NR_RESULTS, "polls", "there is one CPU");
	}
	return tap_exit();
}
