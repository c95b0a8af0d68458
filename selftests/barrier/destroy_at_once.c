// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first thread to leave destroys the barrier and unmaps its memory: a
 * thread that still reads it would be killed. The other threads spin or sleep,
 * or have yet to wait for their phase; or all of them sleep, and the last
 * thread to arrive is stopped after any of its instructions. Private and shared
 * barriers.
 */
#include <drover/barrier.h>

#include "preempt.h"

#define MOST_THREADS 4
#define NR_ROUNDS    60

static drover_barrier_t *barrier;
static atomic_int nr_left, nr_errors, tids[MOST_THREADS];
static atomic_bool is_gone;
static bool split;
static drover_barrierattr_t attr;

static void arrive(void *unused)
{
	drover_phase_t phase;

	if (!split) {
		drover_barrier_wait(barrier);
	} else {
		drover_barrier_arrive(barrier, 1, &phase);
		drover_barrier_wait_for(barrier, phase);
	}
}

/* The first thread to leave destroys the barrier. */
static void leave(void)
{
	if (nr_left++)
		return;
	nr_errors += drover_barrier_destroy(barrier) != 0;
	munmap(barrier, sizeof(*barrier));
	is_gone = true;
}

static void *meet(void *tid)
{
	*(atomic_int *)tid = blocked_gettid();
	arrive(NULL);
	leave();
	return NULL;
}

/*
 * A signal ends the sleep of a thread, which leaves if its phase is complete.
 * Wait until it has left or sleeps again.
 */
static void interrupt(void *sleeper)
{
	pthread_kill(*(pthread_t *)sleeper, SIGUSR1);
	thread_settled(&tids[0], &is_gone);
}

/*
 * Return: was the last thread stopped?
 * @place: 0, or the last thread arrives when all others sleep, and is stopped
 *	   after so many instructions, if its call has as many
 */
static bool one_life(int nr, long place)
{
	pthread_t threads[MOST_THREADS];
	bool stopped = false;

	barrier = map_pages(sizeof(*barrier));
	MUST(drover_barrier_init(barrier, nr, &attr));
	nr_left = is_gone = 0;
	for (int i = 1; i < nr; i++) {
		tids[i - 1] = 0;
		threads[i - 1] = thread_of(meet, &tids[i - 1]);
		if (place)
			asleep_on(&tids[i - 1], NULL);
	}
	if (place && PREEMPT_POSSIBLE && HANDLERS_ARE_PROMPT)
		stopped = preempt_after(place, arrive, interrupt, threads);
	else
		arrive(NULL);
	leave();
	for (int i = 1; i < nr; i++)
		joined(threads[i - 1]);
	return stopped;
}

int main(void)
{
	tap_plan(6);
	for (int form = 4; form--;) {
		split = form & 1;
		attr.flags = form & 2 ? DROVER_BARRIER_SHARED : 0;
		watchdog("destroyed at once");
		for (int i = 0; i < NR_ROUNDS; i++)
			one_life(MOST_THREADS, 0);
		tap_is(nr_errors, 0, "%s%s: destroyed at once, %d times",
		       attr.flags ? "shared, " : "",
		       split ? "arrive, wait_for" : "wait", NR_ROUNDS);
	}
	/*
	 * For interrupt(): this handler returns at once, because no hold_off()
	 * was called, and it ends a sleep, because there is no SA_RESTART.
	 */
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = hold_off_here },
		  NULL);
	everywhere_spin_ms = 2;
	for (int nr = 2; nr <= MOST_THREADS; nr += 2) {
		long place = 1;

		watchdog("destroyed with sleepers");
		while (one_life(nr, place))
			place++;
		tap_is(nr_errors, 0, "%d sleep, the last is stopped %ld times",
		       nr - 1, place - 1);
	}
	return tap_exit();
}
