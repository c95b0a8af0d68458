// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first thread to leave destroys the barrier and unmaps its memory: a
 * thread that still looks at it would be killed. The others spin, sleep, or
 * have yet to be given back their phase. Processes: stopped_member.
 */
#include <drover/barrier.h>

#include "run.h"
#include "blocked.h"

#define NR_THREADS 4

static drover_barrier_t *barrier;
static atomic_int nr_left, nr_errors, tids[NR_THREADS];
static bool split;

static void *meet(void *arg)
{
	atomic_int *tid = arg;
	drover_phase_t phase;

	*tid = blocked_gettid();
	if (!split) {
		drover_barrier_wait(barrier);
	} else {
		drover_barrier_arrive(barrier, 1, &phase);
		drover_barrier_wait_for(barrier, phase);
	}
	/* The first one that is out ends the barrier. */
	if (nr_left++)
		return NULL;
	nr_errors += drover_barrier_destroy(barrier) != 0;
	munmap(barrier, sizeof(*barrier));
	return NULL;
}

/* @all_asleep: the last one comes when all others are asleep. */
static void one_life(bool all_asleep)
{
	pthread_t threads[NR_THREADS];

	barrier = map_pages(sizeof(*barrier));
	MUST(drover_barrier_init(barrier, NR_THREADS, NULL));
	nr_left = 0;
	for (int i = 0; i < NR_THREADS; i++) {
		tids[i] = 0;
		if (all_asleep && i == NR_THREADS - 1)
			for (int j = 0; j < i; j++) {
				reached(&tids[j], 1);
				asleep(tids[j]);
			}
		threads[i] = thread_of(meet, &tids[i]);
	}
	for (int i = 0; i < NR_THREADS; i++)
		joined(threads[i]);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "rounds");
	int nr_rounds = args_get(&args, "rounds", 60);

	tap_plan(3);
	for (int form = 0; form < 2; form++) {
		split = form;
		watchdog("destroyed at once");
		for (int i = 0; i < nr_rounds; i++)
			one_life(false);
		tap_is(nr_errors, 0, "%s: destroyed at once, %d times",
		       split ? "arrive, wait_for" : "wait", nr_rounds);
	}
	watchdog("destroyed with sleepers");
	for (int i = 0; i < nr_rounds / 10; i++)
		one_life(true);
	tap_is(nr_errors, 0, "destroyed while the others wake up");
	return tap_exit();
}
