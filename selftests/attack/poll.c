// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a thread may spend on polling before it sleeps. The test calls
 * poll_before_sleep() itself. The event never comes, or comes late, and sleeps
 * end at once.
 */
#include <drover/barrier.h>
#include <drover/pool.h>
#include <linux/futex.h>

#include "base/cpus.h"
#include "base/thread.h"
#include "blocked.h"
#include "run.h"

#define NR_TIMES  1000
#define NR_SAVED  8 /* polls that an account begins with, as poll.c has it */
#define LATE_NS	  500000 /* of CPU time */
#define SLICE_NS  3000000
#define BRIEF_NS  6000 /* not a long turn */
#define MEET_NS	  1000000
#define SOON_NS	  50000 /* of CPU time */
#define NR_MEETS  60
#define NR_PHASES 50
#define NR_FEW	  2 /* no more than CPUs, which are several */
#define NR_MANY	  1000000

static int nr_polls, nr_before;
static atomic_int nr_yields;
static int64_t comes_at;
static int64_t yield_ns; /* how long others keep the CPU; -1: as they do */

/* The library calls this one. A sleep ends at once, and its timeout, too. */
long raw_futex_call(_Atomic uint32_t *word, int op, uint32_t val,
		    const void *timeout_or_val2, _Atomic uint32_t *word2,
		    uint32_t val3)
{
	if ((op & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && timeout_or_val2) {
		errno = ETIMEDOUT;
		return -1;
	}
	return 0;
}

int sched_yield(void)
{
	struct timespec away = { .tv_nsec = yield_ns };
	int64_t until = ns_of(CLOCK_MONOTONIC) + yield_ns;

	nr_yields++;
	if (yield_ns < 0)
		return syscall(SYS_sched_yield);
	/* The thread is off the CPU for a slice: this is what is tested. */
	if (yield_ns >= SLICE_NS)
		nanosleep(&away, NULL);
	while (ns_of(CLOCK_MONOTONIC) < until)
		;
	return 0;
}

/* The process has so many hundredths of its CPUs; 0: as it is. */
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

static bool never_comes(void *unused)
{
	nr_polls++;
	return false;
}

static bool comes_with_yield(void *unused)
{
	return nr_yields > nr_before;
}

static bool comes_late(void *unused)
{
	nr_polls++;
	return ns_of(CLOCK_THREAD_CPUTIME_ID) >= comes_at;
}

static bool polls(struct poll_account *a, bool (*poll)(void *arg))
{
	nr_polls = 0;
	comes_at = ns_of(CLOCK_THREAD_CPUTIME_ID) + LATE_NS;
	poll_before_sleep(a, poll, NULL, INT64_MAX);
	return nr_polls > 1;
}

static void sleep_once(struct poll_account *a)
{
	static futex_word word;

	sleep_on(&word, 0, NULL, false, FUTEX_BITSET_MATCH_ANY, a);
}

/* How often of @times it polls before it sleeps. */
static int count(struct poll_account *a, bool (*poll)(void *arg), int times,
		 bool sleeps)
{
	int nr = 0;

	for (int i = 0; i < times; i++) {
		nr += polls(a, poll);
		if (sleeps)
			sleep_once(a);
	}
	return nr;
}

/* After how many sleeps; -1: not at all. */
static int polls_again(struct poll_account *a)
{
	for (int nr = 0; nr < 1000 * NR_TIMES; nr++) {
		if (polls(a, never_comes))
			return nr;
		sleep_once(a);
	}
	return -1;
}

static void test_in_vain(void)
{
	struct poll_account a = { 0 };
	int nr;

	poll_limit(100);
	nr = count(&a, never_comes, NR_TIMES, false);
	tap_ok(nr > 0 && nr <= NR_SAVED, "polls in vain: %d of %d times", nr,
	       NR_TIMES);
	/* A sleep costs 50 us at most, and pays for one part in fifty. */
	nr = count(&a, never_comes, 2 * NR_TIMES, true);
	tap_ok(nr <= 2 * NR_TIMES / 100 + 1, "before a sleep: %d of %d times",
	       nr, 2 * NR_TIMES);
	nr = polls_again(&a);
	tap_ok(nr > 0, "it polls again after %d sleeps", nr);
	poll_limit(1);
	for (int i = 0; i < 100 * NR_TIMES; i++)
		sleep_once(&a);
	nr = count(&a, never_comes, NR_TIMES, false);
	tap_ok(nr > 0 && nr <= NR_SAVED, "after many sleeps %d of %d times", nr,
	       NR_TIMES);
	/* What a wake-up takes is measured again and again, and varies. */
	nr = 0;
	for (int i = 0; i < NR_TIMES; i++) {
		poll_limit(1);
		sleep_once(&a);
		poll_limit(100);
		nr += polls(&a, never_comes);
	}
	tap_ok(nr <= NR_SAVED + NR_TIMES / 100 + 1,
	       "where the limit varies: %d of %d times", nr, NR_TIMES);
	/* It costs ten times what it spares; what others run is not counted. */
	a = (struct poll_account){ 0 };
	poll_limit(2 * LATE_NS / 1000);
	nr = count(&a, comes_late, NR_TIMES, false);
	tap_ok(nr > 0 && nr <= NR_TIMES / 4, "what comes late: %d of %d times",
	       nr, NR_TIMES);
}

/* A thread that computes has the CPU for its slice, at each yield. */
static void test_slices(void)
{
	struct poll_account a = { 0 };
	int nr;

	poll_limit(100);
	nr_yields = 0;
	yield_ns = SLICE_NS;
	tap_ok(poll_before_sleep(&a, comes_with_yield, NULL, INT64_MAX),
	       "what came meanwhile is not missed");
	for (int i = 0; i < NR_TIMES; i++) {
		nr_before = nr_yields;
		poll_before_sleep(&a, comes_with_yield, NULL, INT64_MAX);
		sleep_once(&a);
	}
	tap_ok(nr_yields <= 10, "it yields %d of %d times", nr_yields,
	       NR_TIMES);
	yield_ns = 0;
	nr = polls_again(&a);
	tap_ok(nr > 0, "it polls again after %d sleeps", nr);
}

static void test_limits(void)
{
	struct poll_account a = { 0 };

	poll_limit(100000);
	nr_polls = 0;
	poll_before_sleep(&a, never_comes, NULL, 1000);
	tap_ok(nr_polls < 200, "a deadline ends it: %d polls", nr_polls);
	poll_limit(0);
	nr_yields = 0;
	tap_is(polls(&a, never_comes), 0, "spin=0: it does not poll");
	tap_is(nr_yields, 0, "nor does it yield");
}

/* Threads that meet poll for a millisecond; how often they yield meanwhile. */
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

/* How often they yield in several waits that last a moment each. */
static int yields_of_many(struct poll_account *a, uint32_t nr_meet)
{
	nr_yields = 0;
	for (int i = 0; i < NR_MEETS; i++) {
		comes_at = ns_of(CLOCK_THREAD_CPUTIME_ID) + SOON_NS;
		poll_for(a, comes_soon, NULL, SLICE_NS, INT64_MAX, nr_meet);
	}
	return nr_yields;
}

/* In the midst of the poll others have the CPU for a while. */
static bool comes_after_preemption(void *unused)
{
	struct timespec away = { .tv_nsec = SLICE_NS };

	if (++nr_polls == 3)
		nanosleep(&away, NULL);
	return comes_late(unused);
}

/* A thread that computes has the CPU for its slice, at each yield. */
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
	       "beside others: %d yields in %d waits where each has a CPU, "
	       "%d where not",
	       few, NR_MEETS, many);
	tap_ok(a.turn > SOON_NS, "a yield costs %d us", a.turn / 1000);
	nr_yields = nr_polls = 0;
	comes_at = ns_of(CLOCK_THREAD_CPUTIME_ID) + SOON_NS;
	poll_for(&a, comes_after_preemption, NULL, SLICE_NS, INT64_MAX, NR_FEW);
	tap_is(nr_yields, 0, "no yield follows at once when others had a turn");
	yield_ns = 0;
	a.turn = LATE_NS; /* less than a wait, however long a yield was */
	for (int i = 0; i < NR_TIMES && a.turn >= SOON_NS; i++)
		yields_of(&a, NR_FEW);
	tap_ok(a.turn < SOON_NS, "yields that cost nothing are learned, too");
}

/* ---- whose CPU a phase is opened on ---- */

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

/* How often yields come to cost nothing because of a phase. */
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

	watchdog("whose CPU");
	poll_limit(100);
	yield_ns = -1;
	CPU_XOR(&rest, &rest, &one);
	same = nr_learned(&one, &one);
	apart = nr_learned(&one, &rest);
	tap_ok(same && !apart,
	       "a phase that is opened on the own CPU: a yield costs nothing "
	       "(%d times, %d of another CPU's)",
	       same, apart);
}

/* More threads than CPUs: how often they yield in NR_PHASES waits of @ns each. */
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
	brief = yields_of_many_threads(100, LATE_NS);
	yield_ns = SLICE_NS;
	/* Last: the thread sleeps at once for a while. */
	of_others = yields_of_many_threads(50, 2 * SLICE_NS);
	yield_ns = 0;
	tap_ok(of_others <= NR_PHASES / 2 && own >= NR_PHASES,
	       "long turns: %d yields in %d waits if others have CPUs, %d if not",
	       of_others, NR_PHASES, own);
	tap_ok(brief <= NR_PHASES * (LATE_NS / BRIEF_NS + 2),
	       "a deadline ends the yields: %d of them", brief);
}

/* The longest of a few such polls: others may have the CPU meanwhile. */
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
	       "real-time threads poll as long only if each has a CPU:"
	       " %ld us, %ld us",
	       (long)few / 1000, (long)many / 1000);
}

/* In a process that began with one CPU. */
static bool counts_cpus(void)
{
	drover_pool_t *pool;
	cpu_set_t all;
	bool counted;

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	counted = !poll_has_cpu();
	MUST(drover_pool_create(&pool, NULL));
	counted &= poll_has_cpu() == (cpus_usable() > 1);
	MUST(drover_pool_shutdown(pool, DROVER_POOL_DRAIN));
	MUST(drover_pool_free(pool));
	return counted;
}

static bool run_pool_on_one_cpu(void)
{
	to_one_cpu();
	execl("/proc/self/exe", "poll", "one_cpu=2", NULL);
	return false;
}

/* A fresh process, which begins on one CPU; it ends with a bit for each fault. */
static bool run_on_one_cpu(void)
{
	to_one_cpu();
	execl("/proc/self/exe", "poll", "one_cpu=1", NULL);
	_exit(-1);
}

#define NO_ONE_YIELD 1
#define NOT_WIDENED  2

static int on_one_cpu(void)
{
	struct poll_account a = { 0 };
	int faults = 0;
	cpu_set_t all;

	/* One poll, one yield, one more poll. */
	poll_limit(100000);
	polls(&a, never_comes);
	if (nr_polls != 2 || nr_yields != 1)
		faults |= NO_ONE_YIELD;
	sleep_once(&a);
	memset(&all, 0xff, sizeof(all));
	MUST(sched_setaffinity(0, sizeof(all), &all));
	for (int i = 0; i < 2 * NR_TIMES; i++)
		sleep_once(&a);
	if (!polls(&a, never_comes) || nr_polls <= 2)
		faults |= NOT_WIDENED;
	return faults;
}

/* The caller alone may run on one CPU now: other threads may have the rest. */
static void test_pinned(void)
{
	cpu_set_t before = to_one_cpu();

	for (int i = 0; i < 2 * NR_TIMES; i++)
		sleep_once(&(struct poll_account){ 0 });
	MUST(sched_setaffinity(0, sizeof(before), &before));
	tap_ok(poll_has_cpu(), "a thread that is pinned is not alone");
}

static void test_one_cpu(void)
{
	bool several = poll_has_cpu();
	int faults = child_status(run_on_one_cpu, "one CPU");

	tap_ok(!(faults & NO_ONE_YIELD),
	       "one CPU: it yields once, and then sleeps");
	if (several)
		tap_ok(!(faults & NOT_WIDENED),
		       "it polls when it may use more of them");
	else
		tap_skip("more CPUs", "there is one CPU");
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "one_cpu");

	switch (args_get(&args, "one_cpu", 0)) {
	case 1:
		return on_one_cpu();
	case 2:
		return !counts_cpus();
	}
	tap_plan(16 + 7 + 1);
	watchdog("polls");
	if (poll_has_cpu()) {
		/* First: the others' sleeps, which end at once, count as cheap. */
		test_real_time();
		test_in_vain();
		test_slices();
		test_limits();
		test_meet_beside_others();
		test_own_cpu();
		test_long_turns();
		test_pinned();
	} else {
		tap_skip_all(14 + 7, "polls", "there is one CPU");
	}
	test_one_cpu();
	tap_ok(child_does(run_pool_on_one_cpu, "a pool on one CPU"),
	       "CPUs that come later are counted with a pool's");
	return tap_exit();
}
