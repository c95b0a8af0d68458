// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first thread to leave destroys the barrier and unmaps its memory: a
 * thread that still looks at it would be killed. The others spin, sleep, or
 * have yet to be given back their phase.
 */
#include <drover/barrier.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "run.h"
#include "blocked.h"

#define NR_THREADS 4

static drover_barrier_t *barrier;
static atomic_int nr_left, nr_errors;
static atomic_int tids[NR_THREADS];
static bool split;

static drover_barrier_t *map_barrier(unsigned int flags)
{
	drover_barrierattr_t attr = { .flags = flags };
	void *memory = mmap(NULL, sizeof(drover_barrier_t),
			    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);

	if (memory == MAP_FAILED ||
	    drover_barrier_init(memory, NR_THREADS, &attr))
		tap_bail("no barrier");
	return memory;
}

/* The caller is out; the first one that is ends the barrier. */
static void end_if_first(void)
{
	if (nr_left++)
		return;
	nr_errors += drover_barrier_destroy(barrier) != 0;
	munmap(barrier, sizeof(*barrier));
}

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
	end_if_first();
	return NULL;
}

/* @all_asleep: the last one comes when all others are asleep. */
static void one_life(bool all_asleep)
{
	pthread_t threads[NR_THREADS];

	barrier = map_barrier(0);
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

/* The same with processes. */
static void shared_life(void)
{
	static atomic_int *left;
	pid_t pids[NR_THREADS];
	int ended = 0;

	barrier = map_barrier(DROVER_BARRIER_SHARED);
	left = mmap(NULL, sizeof(*left), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < NR_THREADS; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		for (int j = 0; j < 100; j++)
			drover_barrier_wait(barrier);
		if (!atomic_fetch_add(left, 1)) {
			/* Its bytes are gone for all of them. */
			if (drover_barrier_destroy(barrier))
				_exit(1);
			memset(barrier, 0xff, sizeof(*barrier));
		}
		_exit(0);
	}
	for (int i = 0; i < NR_THREADS; i++) {
		int status = -1;

		waitpid(pids[i], &status, 0);
		ended += status == 0;
	}
	nr_left += ended == NR_THREADS;
	munmap(barrier, sizeof(*barrier));
	munmap(left, sizeof(*left));
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "rounds");
	int nr_rounds = args_get(&args, "rounds", 60);

	tap_plan(4);
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
	watchdog("shared");
	nr_left = 0;
	for (int i = 0; i < nr_rounds / 30; i++)
		shared_life();
	tap_is(nr_left, nr_rounds / 30, "shared, destroyed at once");
	return tap_exit();
}
