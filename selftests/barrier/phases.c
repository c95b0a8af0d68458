// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many phases with 1 to 256 threads, in all forms of arriving, while the
 * process's CPUs change: what was written before a barrier is read behind it,
 * nobody gets through early, one thread of each phase is the serial one, and
 * none is left behind.
 */
#include <drover/barrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "run.h"
#include "blocked.h"
#include "tap.h"

#define MAX_THREADS 256
#define STACK_SIZE  (64 * 1024)

struct runner {
	pthread_t thread;
	uint64_t random;
	long nr_serial;
	long nr_wrong;
	int nr;
	/* Plain data: the barrier alone orders its writes and reads. */
	long turn;
};

static drover_barrier_t barrier;
static struct runner runners[MAX_THREADS];
static int nr_threads;
static long nr_rounds;
static atomic_bool over;
static atomic_int nr_over;

/* One phase, one way or another. */
static int meet(struct runner *r)
{
	drover_phase_t phase;
	int ret;

	if (random_below(&r->random, 4))
		return drover_barrier_wait(&barrier);
	ret = drover_barrier_arrive(&barrier, 1, &phase);
	if (random_below(&r->random, 2))
		sched_yield();
	if (drover_barrier_wait_for(&barrier, phase))
		r->nr_wrong++;
	return ret;
}

static void *run(void *arg)
{
	struct runner *r = arg;

	for (long i = 1; i <= nr_rounds; i++) {
		struct runner *other =
			&runners[random_below(&r->random, nr_threads)];
		int ret;

		r->turn = i;
		ret = meet(r);
		r->nr_serial += ret == DROVER_BARRIER_SERIAL;
		r->nr_wrong += ret != 0 && ret != DROVER_BARRIER_SERIAL;
		r->nr_wrong += other->turn != i;
		/* Between this read and the next write. */
		meet(r);
	}
	atomic_fetch_add(&nr_over, 1);
	return NULL;
}

/* Give all threads one CPU, then all again, and so on. */
static void *change_cpus(void *arg)
{
	cpu_set_t all, one;
	int cpu = 0;

	(void)arg;
	if (sched_getaffinity(0, sizeof(all), &all))
		return NULL;
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	while (!atomic_load(&over)) {
		for (int i = 0; i < nr_threads; i++)
			pthread_setaffinity_np(runners[i].thread, sizeof(one),
					       i % 2 ? &one : &all);
		sched_yield();
		for (int i = 0; i < nr_threads; i++)
			pthread_setaffinity_np(runners[i].thread, sizeof(all),
					       &all);
		sched_yield();
	}
	return NULL;
}

static void start(pthread_t *thread, void *(*begin)(void *), void *arg)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	if (pthread_create(thread, &attr, begin, arg))
		tap_bail("no thread");
	pthread_attr_destroy(&attr);
}

static void test_phases(int count, uint64_t *seed, bool changing, bool spin)
{
	drover_barrierattr_t attr = {
		.spin_us = spin ? 0 : DROVER_BARRIER_NO_SPIN,
	};
	long nr_serial = 0, nr_wrong = 0;
	pthread_t changer;

	watchdog("phases");
	nr_threads = count;
	if (drover_barrier_init(&barrier, count, &attr))
		tap_bail("init");
	for (int i = 0; i < count; i++)
		runners[i] =
			(struct runner){ .nr = i, .random = random_next(seed) };
	atomic_store(&nr_over, 0);
	for (int i = 0; i < count; i++)
		start(&runners[i].thread, run, &runners[i]);
	atomic_store(&over, false);
	if (changing)
		start(&changer, change_cpus, NULL);
	if (changing) {
		/* It uses the ids of threads that are not joined yet. */
		if (wait_at_least(&nr_over, count))
			tap_bail("threads hang");
		atomic_store(&over, true);
		pthread_join(changer, NULL);
	}
	for (int i = 0; i < count; i++) {
		pthread_join(runners[i].thread, NULL);
		nr_serial += runners[i].nr_serial;
		nr_wrong += runners[i].nr_wrong;
	}
	tap_is(nr_wrong, 0, "%d threads%s%s: nothing wrong", count,
	       changing ? ", CPUs changing" : "", spin ? "" : ", no spinning");
	tap_is(nr_serial, nr_rounds, "%d threads: one serial thread a phase",
	       count);
	if (drover_barrier_destroy(&barrier))
		tap_bail("destroy");
}

/* A pending cancellation is not noticed inside, and nobody is kept waiting. */
static void *run_cancelled(void *arg)
{
	pthread_cancel(pthread_self());
	for (int i = 0; i < 100; i++)
		drover_barrier_wait(&barrier);
	atomic_fetch_add(&nr_over, 1);
	pthread_testcancel();
	return arg;
}

static void test_cancel(void)
{
	pthread_t thread;
	void *result;

	watchdog("cancellation");
	atomic_store(&nr_over, 0);
	drover_barrier_init(&barrier, 2, NULL);
	start(&thread, run_cancelled, NULL);
	for (int i = 0; i < 100; i++)
		drover_barrier_wait(&barrier);
	pthread_join(thread, &result);
	tap_ok(atomic_load(&nr_over) == 1 && result == PTHREAD_CANCELED,
	       "a cancelled thread comes through all phases first");
	drover_barrier_destroy(&barrier);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "seed rounds");
	uint64_t seed = args_get(&args, "seed", args_fresh_seed());
	long rounds = args_get(&args, "rounds", 400);
	static const int counts[] = { 1, 2, 3, 8, 64, 256 };

	tap_plan(2 * (6 + 3) + 1);
	tap_diag("seed=%" PRIu64, seed);
	for (int i = 0; i < 6; i++) {
		nr_rounds = rounds / counts[i] + 1;
		test_phases(counts[i], &seed, false, true);
	}
	nr_rounds = rounds / 4;
	test_phases(2, &seed, true, true);
	test_phases(5, &seed, true, true);
	test_phases(5, &seed, false, false);
	test_cancel();
	return tap_exit();
}
