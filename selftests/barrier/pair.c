// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two threads that only wait for each other do so at one word. Here something
 * else comes in between, while one of them looks, sleeps or arrives: an arrival
 * without a wait, one that drops out, another count, a third thread. Nobody is
 * left behind, and nobody gets through early.
 */
#include <drover/barrier.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "run.h"
#include "blocked.h"
#include "tap.h"

static drover_barrier_t barrier;
static atomic_int tid, nr_back;
static bool spins;

static void make(void)
{
	drover_barrierattr_t attr = {
		.spin_us = spins ? 0 : DROVER_BARRIER_NO_SPIN,
	};

	if (drover_barrier_init(&barrier, 2, &attr))
		tap_bail("init");
}

/* ---- one sleeps, and the other one does something else ---- */

static void *wait_once(void *arg)
{
	atomic_store(&tid, blocked_gettid());
	*(int *)arg = drover_barrier_wait(&barrier);
	atomic_fetch_add(&nr_back, 1);
	return NULL;
}

/* Returns what the sleeper's wait has returned; @other is to end it. */
static int beside_sleeper(int (*other)(void))
{
	pthread_t thread;
	int ret = 4711;

	atomic_store(&tid, 0);
	atomic_store(&nr_back, 0);
	if (pthread_create(&thread, NULL, wait_once, &ret))
		tap_bail("no thread");
	if (wait_at_least(&tid, 1) || wait_blocked(getpid(), tid, NULL))
		tap_bail("it does not sleep");
	if (other() != DROVER_BARRIER_SERIAL)
		tap_bail("the phase is not complete");
	if (wait_at_least(&nr_back, 1))
		tap_bail("it is left behind");
	pthread_join(thread, NULL);
	return ret;
}

static int wait_too(void)
{
	return drover_barrier_wait(&barrier);
}

static int arrive(void)
{
	return drover_barrier_arrive(&barrier, 1, NULL);
}

static int drop(void)
{
	return drover_barrier_arrive_and_drop(&barrier);
}

static int wait_for_three(void)
{
	pthread_t second;
	int ret, its;

	atomic_store(&tid, 0);
	if (pthread_create(&second, NULL, wait_once, &its))
		tap_bail("no thread");
	if (wait_at_least(&tid, 1) || wait_blocked(getpid(), tid, NULL))
		tap_bail("two of three get through");
	ret = drover_barrier_wait(&barrier);
	pthread_join(second, NULL);
	return ret;
}

/* What is refused changes nothing for the sleeper. */
static int be_refused(void)
{
	drover_phase_t phase;

	tap_is(drover_barrier_destroy(&barrier), EBUSY, "a sleeper: destroy");
	tap_is(drover_barrier_set_count(&barrier, 3), EBUSY,
	       "a sleeper: set_count");
	tap_is(drover_barrier_arrive(&barrier, 2, &phase), EOVERFLOW,
	       "a sleeper: two more of two");
	tap_is(drover_barrier_destroy(&barrier), EBUSY,
	       "a sleeper: destroy again");
	return arrive();
}

static void test_sleeper(void)
{
	watchdog("a sleeper");
	make();
	drover_barrier_set_count(&barrier, 3);
	tap_is(beside_sleeper(wait_for_three), 0, "a pair no more, but three");
	drover_barrier_set_count(&barrier, 2);
	tap_is(beside_sleeper(wait_too), 0, "a sleeper, and one that waits");
	tap_is(beside_sleeper(arrive), 0, "and one that arrives");
	tap_is(beside_sleeper(arrive), 0, "and once more");
	drover_barrier_set_count(&barrier, 2);
	tap_is(beside_sleeper(be_refused), 0, "and one that is refused first");
	drover_barrier_set_count(&barrier, 2);
	tap_is(beside_sleeper(drop), 0, "and one that drops out");
	tap_is(drover_barrier_wait(&barrier), DROVER_BARRIER_SERIAL,
	       "the other one is alone then");
	drover_barrier_set_count(&barrier, 2);
	tap_is(beside_sleeper(wait_too), 0, "and are a pair again");
	tap_is(drover_barrier_destroy(&barrier), 0, "destroy");
}

/* ---- many phases ---- */

struct runner {
	pthread_t thread;
	uint64_t random;
	long nr_serial, nr_wrong;
	/* Plain data: the barrier alone orders its writes and reads. */
	long turn;
	int nr;
};

static struct runner runners[3];
static long nr_rounds;
static bool reopens;
static atomic_long nr_to_come;

/* A wait as a rule, so that there is a pair for some phases. */
static void meet(struct runner *r)
{
	drover_phase_t phase;
	int ret;

	if (random_below(&r->random, 16)) {
		ret = drover_barrier_wait(&barrier);
	} else {
		ret = drover_barrier_arrive(&barrier, 1, &phase);
		if (!ret && drover_barrier_wait_for(&barrier, phase))
			r->nr_wrong++;
		else if (ret == DROVER_BARRIER_SERIAL)
			drover_barrier_forget(&barrier, phase);
	}
	r->nr_serial += ret == DROVER_BARRIER_SERIAL;
	r->nr_wrong += ret != 0 && ret != DROVER_BARRIER_SERIAL;
}

static void *run_two(void *arg)
{
	struct runner *r = arg, *other = &runners[!r->nr];

	for (long i = 1; i <= nr_rounds; i++) {
		r->turn = i;
		meet(r);
		r->nr_wrong += other->turn != i;
		meet(r);
		if (i % 4 || !reopens)
			continue;
		/* Both are here; one of them makes a pair of them again. */
		if (r->nr == 0) {
			r->nr_wrong += drover_barrier_set_count(&barrier, 2);
			atomic_store(&nr_back, (int)i);
		} else if (wait_at_least(&nr_back, (int)i)) {
			tap_bail("the other one does not come");
		}
	}
	return NULL;
}

/* An even number of arrivals, by whoever is free: nobody ends up alone. */
static void *run_three(void *arg)
{
	while (atomic_fetch_sub(&nr_to_come, 1) > 0)
		meet(arg);
	return NULL;
}

static void test_phases(int nr_threads, void *(*run)(void *), uint64_t *seed)
{
	const char *how = spins ? "" : ", no spinning";
	long nr_serial = 0, nr_wrong = 0;

	watchdog("many phases");
	make();
	atomic_store(&nr_back, 0);
	atomic_store(&nr_to_come, 2 * nr_threads * nr_rounds);
	for (int i = 0; i < nr_threads; i++) {
		runners[i] =
			(struct runner){ .nr = i, .random = random_next(seed) };
		if (pthread_create(&runners[i].thread, NULL, run, &runners[i]))
			tap_bail("no thread");
	}
	for (int i = 0; i < nr_threads; i++) {
		pthread_join(runners[i].thread, NULL);
		nr_serial += runners[i].nr_serial;
		nr_wrong += runners[i].nr_wrong;
	}
	tap_is(nr_wrong, 0, "%d threads%s%s: nothing wrong", nr_threads,
	       reopens ? ", again and again a pair" : "", how);
	tap_is(nr_serial, nr_threads * nr_rounds,
	       "%d threads: one serial thread a phase", nr_threads);
	tap_is(drover_barrier_destroy(&barrier), 0, "destroy");
}

/* The pair ends within a few phases: many short lives. */
static void test_lives(int nr_lives, uint64_t *seed)
{
	long nr_serial = 0, nr_wrong = 0;
	struct runner *r = runners;

	watchdog("short lives");
	nr_rounds = 8;
	for (int i = 0; i < nr_lives; i++) {
		make();
		atomic_store(&nr_to_come, 2 * 3 * nr_rounds);
		for (int t = 0; t < 3; t++) {
			r[t] = (struct runner){ .random = random_next(seed) };
			if (pthread_create(&r[t].thread, NULL, run_three,
					   &r[t]))
				tap_bail("no thread");
		}
		for (int t = 0; t < 3; t++) {
			pthread_join(r[t].thread, NULL);
			nr_serial += r[t].nr_serial;
			nr_wrong += r[t].nr_wrong;
		}
		nr_wrong += drover_barrier_destroy(&barrier) != 0;
	}
	tap_is(nr_wrong, 0, "three threads, short lives%s: nothing wrong",
	       spins ? "" : ", no spinning");
	tap_is(nr_serial, nr_lives * 3 * nr_rounds,
	       "three threads, short lives: one serial thread a phase");
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "seed rounds lives");
	uint64_t seed = args_get(&args, "seed", args_fresh_seed());
	long rounds = args_get(&args, "rounds", 2000);
	int nr_lives = args_get(&args, "lives", 100);

	tap_plan(2 * (13 + 2 * 3 + 2));
	tap_diag("seed=%" PRIu64, seed);
	for (int i = 0; i < 2; i++) {
		spins = i;
		test_sleeper();
		nr_rounds = rounds / (spins ? 1 : 8);
		reopens = true;
		test_phases(2, run_two, &seed);
		reopens = false;
		test_phases(3, run_three, &seed);
		test_lives(nr_lives, &seed);
	}
	return tap_exit();
}
