// SPDX-License-Identifier: GPL-2.0-only
/*
 * A barrier that counts one, and several threads that use it at the same time:
 * a phase is one arrival then, completion functions run one after the other,
 * and no phase comes twice.
 */
#include <drover/barrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "run.h"
#include "tap.h"

#define NR_THREADS 4
#define NR_ROUNDS  5000

static drover_barrier_t barrier;
static drover_phase_t phases[NR_THREADS * NR_ROUNDS];
static atomic_int nr_inside, nr_overlaps;
static long nr_completed; /* the barrier alone orders it */

static void complete(void *arg)
{
	(void)arg;
	if (atomic_fetch_add(&nr_inside, 1))
		atomic_fetch_add(&nr_overlaps, 1);
	sched_yield();
	nr_completed++;
	atomic_fetch_sub(&nr_inside, 1);
}

static void *just_wait(void *arg)
{
	long nr_serial = 0;

	(void)arg;
	for (int i = 0; i < NR_ROUNDS; i++)
		nr_serial += drover_barrier_wait(&barrier) ==
			     DROVER_BARRIER_SERIAL;
	return (void *)nr_serial;
}

static void *arrive_and_forget(void *arg)
{
	drover_phase_t *mine = arg;
	long nr_serial = 0;

	for (int i = 0; i < NR_ROUNDS; i++) {
		nr_serial += drover_barrier_arrive(&barrier, 1, &mine[i]) ==
			     DROVER_BARRIER_SERIAL;
		sched_yield();
	}
	for (int i = 0; i < NR_ROUNDS; i++)
		drover_barrier_forget(&barrier, mine[i]);
	return (void *)nr_serial;
}

static void test(const char *what, void *(*run)(void *))
{
	pthread_t threads[NR_THREADS];
	long nr_serial = 0;
	void *ret;

	watchdog(what);
	for (int i = 0; i < NR_THREADS; i++)
		if (pthread_create(&threads[i], NULL, run,
				   &phases[i * NR_ROUNDS]))
			tap_bail("no thread");
	for (int i = 0; i < NR_THREADS; i++) {
		pthread_join(threads[i], &ret);
		nr_serial += (long)ret;
	}
	tap_is(nr_serial, NR_THREADS * NR_ROUNDS,
	       "%s: each arrival completes a phase", what);
}

static int compare(const void *a, const void *b)
{
	drover_phase_t one = *(drover_phase_t *)a, two = *(drover_phase_t *)b;

	return (one > two) - (one < two);
}

int main(void)
{
	drover_barrierattr_t attr = { .completion = complete };
	long nr_twice = 0;

	tap_plan(5);
	if (drover_barrier_init(&barrier, 1, &attr))
		tap_bail("init");
	test("wait", just_wait);
	tap_is(atomic_load(&nr_overlaps), 0, "completions at the same time");
	test("arrive", arrive_and_forget);
	tap_is(nr_completed, 2 * NR_THREADS * NR_ROUNDS, "completions");
	qsort(phases, NR_THREADS * NR_ROUNDS, sizeof(phases[0]), compare);
	for (int i = 1; i < NR_THREADS * NR_ROUNDS; i++)
		nr_twice += phases[i] == phases[i - 1];
	tap_is(nr_twice, 0, "phases that came twice");
	drover_barrier_destroy(&barrier);
	return tap_exit();
}
