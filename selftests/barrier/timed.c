// SPDX-License-Identifier: GPL-2.0-only
/*
 * A phase with a deadline, and one that is asked after; and barriers that are
 * there from the start, to which many threads come at the same time.
 */
#include <drover/barrier.h>
#include <errno.h>
#include <pthread.h>

#include "run.h"
#include "tap.h"

#define NR_THREADS  4
#define NR_BARRIERS 64

static void test_deadline(clockid_t clock, const char *name)
{
	struct timespec past = { 0, 0 }, soon, bad = { 0, 1000000000 };
	drover_barrier_t b = DROVER_BARRIER_INITIALIZER(3);
	drover_phase_t phase;

	drover_barrier_arrive(&b, 1, &phase);
	tap_is(drover_barrier_wait_until(&b, phase, clock, &past), ETIMEDOUT,
	       "%s: a time that is over", name);
	clock_gettime(clock, &soon);
	soon.tv_nsec += 2000000;
	soon.tv_sec += soon.tv_nsec / 1000000000;
	soon.tv_nsec %= 1000000000;
	tap_is(drover_barrier_wait_until(&b, phase, clock, &soon), ETIMEDOUT,
	       "%s: a time that comes first", name);
	tap_is(drover_barrier_wait_until(&b, phase, clock, &bad), EINVAL,
	       "%s: no such time", name);
	tap_is(drover_barrier_wait_until(&b, phase, 4711, &soon), EINVAL,
	       "%s: no such clock", name);
	tap_is(drover_barrier_test(&b, phase), EINPROGRESS, "%s: not yet",
	       name);
	drover_barrier_arrive(&b, 2, NULL);
	tap_is(drover_barrier_wait_until(&b, phase, clock, &past), 0,
	       "%s: complete, though the time is over", name);
	drover_barrier_arrive(&b, 1, &phase);
	drover_barrier_arrive(&b, 2, NULL);
	tap_is(drover_barrier_test(&b, phase), 0, "%s: complete", name);
	tap_is(drover_barrier_destroy(&b), 0, "%s: no phase is left", name);
}

static drover_barrier_t barriers[NR_BARRIERS];
static long turns[NR_THREADS], nr_wrong;

static void *run(void *arg)
{
	long *turn = arg, wrong = 0;

	for (int i = 0; i < NR_BARRIERS; i++) {
		turn[0] = i;
		drover_barrier_wait(&barriers[i]);
		for (int j = 0; j < NR_THREADS; j++)
			wrong += turns[j] != i;
		drover_barrier_wait(&barriers[i]);
	}
	__atomic_fetch_add(&nr_wrong, wrong, __ATOMIC_RELAXED);
	return NULL;
}

static void test_initialiser(void)
{
	static const drover_barrier_t ready =
		DROVER_BARRIER_INITIALIZER(NR_THREADS);
	pthread_t threads[NR_THREADS];

	watchdog("initialisers");
	for (int i = 0; i < NR_BARRIERS; i++)
		barriers[i] = ready;
	for (int i = 0; i < NR_THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, &turns[i]))
			tap_bail("no thread");
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	tap_is(nr_wrong, 0, "who gets through early");
	tap_is(drover_barrier_destroy(&barriers[0]), 0, "destroy");
	tap_is(drover_barrier_wait(&barriers[0]), EINVAL, "and it is gone");
	barriers[0] = ready;
	tap_is(drover_barrier_destroy(&barriers[0]), 0, "destroy, never used");
}

int main(void)
{
	watchdog("deadlines");
	tap_plan(8 + 8 + 4);
	test_deadline(CLOCK_MONOTONIC, "monotonic");
	test_deadline(CLOCK_REALTIME, "realtime");
	test_initialiser();
	return tap_exit();
}
