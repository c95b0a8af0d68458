// SPDX-License-Identifier: GPL-2.0-only
/* Scenarios of the barrier. */
#include <drover/barrier.h>
#include <errno.h>

#include "scenarios.h"

#define MOST_ROUNDS 3

static drover_barrier_t barrier;
static int nr_threads;
/* Each thread writes its element before a phase; all see it afterwards. */
static int done[2][MAX_THREADS];
static struct crowd come_and_gone;

static void setup_for(int count)
{
	nr_threads = count;
	expect(!drover_barrier_init(&barrier, (unsigned int)count, NULL));
	call_it(&barrier, sizeof(barrier), "barrier");
	call_it(done, sizeof(done), "done");
}

static void setup_two(void)
{
	setup_for(2);
}

static void setup_three(void)
{
	setup_for(3);
}

static void setup_shared(void)
{
	drover_barrierattr_t attr = { .flags = DROVER_BARRIER_SHARED };

	setup_for(3);
	expect(!drover_barrier_init(&barrier, 3, &attr));
}

static void look(int round)
{
	for (int i = 0; i < nr_threads; i++)
		expect(done[round & 1][i] == round + 1);
}

static void run_rounds(int me, int nr)
{
	for (int round = 0; round < nr; round++) {
		int ret;

		done[round & 1][me] = round + 1;
		ret = drover_barrier_wait(&barrier);
		expect(!ret || ret == DROVER_BARRIER_SERIAL);
		look(round);
	}
}

static void three_rounds(int me)
{
	run_rounds(me, MOST_ROUNDS);
}

static void two_rounds(int me)
{
	run_rounds(me, 2);
}

/*
 * A thread that has come through may destroy the barrier and free its memory.
 */
static void destroy(int me)
{
	run_rounds(me, 1);
	if (me)
		return;
	expect(!drover_barrier_destroy(&barrier));
	give_back(&barrier, sizeof(barrier));
}

/*
 * Three threads use a barrier for two, until they have shared out all arrivals.
 * The barrier must let threads through two by two.
 */
static void crowd(int me)
{
	while (crowd_arrives(&come_and_gone, 8)) {
		int ret = drover_barrier_wait(&barrier);

		expect(!ret || ret == DROVER_BARRIER_SERIAL);
		crowd_leaves(&come_and_gone, 2);
	}
}

/* Arrive first, and wait later. */
static void split(int me)
{
	for (int round = 0; round < 2; round++) {
		drover_phase_t phase;
		int ret;

		done[round & 1][me] = round + 1;
		ret = drover_barrier_arrive(&barrier, 1, &phase);
		expect(!ret || ret == DROVER_BARRIER_SERIAL);
		expect(!drover_barrier_wait_for(&barrier, phase));
		look(round);
	}
}

/* The same; a thread that has waited for its phase may destroy the barrier. */
static void split_destroy(int me)
{
	drover_phase_t phase;
	int ret = drover_barrier_arrive(&barrier, 1, &phase);

	expect(!ret || ret == DROVER_BARRIER_SERIAL);
	expect(!drover_barrier_wait_for(&barrier, phase));
	if (me)
		return;
	expect(!drover_barrier_destroy(&barrier));
	give_back(&barrier, sizeof(barrier));
}

static void until(int me)
{
	struct timespec at = in_a_while();
	drover_phase_t phase;
	int ret;

	done[0][me] = 1;
	ret = drover_barrier_arrive(&barrier, 1, &phase);
	expect(!ret || ret == DROVER_BARRIER_SERIAL);
	ret = drover_barrier_wait_until(&barrier, phase, CLOCK_MONOTONIC, &at);
	expect(!ret || ret == ETIMEDOUT);
	if (ret == ETIMEDOUT)
		expect(!drover_barrier_wait_for(&barrier, phase));
	look(0);
}

static void drop(int me)
{
	if (me == 0) {
		done[0][0] = 1;
		expect(drover_barrier_arrive_and_drop(&barrier) <= 0);
	} else {
		done[0][me] = 1;
		expect(drover_barrier_wait(&barrier) <= 0);
		look(0);
		done[1][me] = 2;
		expect(drover_barrier_wait(&barrier) <= 0);
		expect(done[1][1] == 2 && done[1][2] == 2);
	}
}

#define POLICIES "auto,spin=0 auto auto,1cpu"

const struct scenario barrier_scenarios[] = {
	{ "barrier", 3, 0, 0, POLICIES, setup_three, two_rounds, NULL },
	{ "barrier-any", 3, 0, INTERRUPTS | SPURIOUS | ANY_ORDER, POLICIES,
	  setup_three, two_rounds, NULL },
	{ "barrier-two", 2, 0, SPURIOUS, POLICIES, setup_two, three_rounds,
	  NULL },
	{ "barrier-destroy", 3, 0, 0, POLICIES, setup_three, destroy, NULL },
	{ "barrier-shared-destroy", 3, 0, 0, POLICIES, setup_shared, destroy,
	  NULL },
	{ "barrier-crowd", 3, 0, 0, POLICIES, setup_two, crowd, NULL },
	{ "barrier-split-destroy", 3, 0, 0, POLICIES, setup_three,
	  split_destroy, NULL },
	{ "barrier-split", 3, 0, 0, POLICIES, setup_three, split, NULL },
	{ "barrier-until", 3, 0, EXPIRES, POLICIES, setup_three, until, NULL },
	{ "barrier-drop", 3, 0, 0, POLICIES, setup_three, drop, NULL },
};
const int nr_barrier_scenarios =
	sizeof(barrier_scenarios) / sizeof(*barrier_scenarios);
