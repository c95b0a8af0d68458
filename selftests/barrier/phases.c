// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many phases with 1 to 256 threads, which arrive by all the functions there
 * are, while the process's CPUs change. Behind the barrier the other threads
 * read the value that a thread wrote before it. No thread gets through early, one thread
 * of each phase is the serial one, and none is left behind.
 */
#include <drover/barrier.h>

#include "blocked.h"
#include "run.h"

#define MAX_THREADS 256
#define NR_ALONE    5000 /* rounds of a barrier for one thread */

struct runner {
	pthread_t thread;
	uint64_t random;
	long nr_serial, nr_wrong;
	int nr;
	/* Plain data: the barrier alone orders its writes and reads. */
	long turn;
};

static drover_barrier_t barrier;
static struct runner runners[MAX_THREADS];
static int nr_threads;
static long nr_rounds;
static atomic_bool over;
static atomic_int nr_over, nr_back;
static atomic_long nr_to_come;

/*
 * Of a barrier for one thread: in which phases threads arrived, and how the
 * completions ran
 */
static drover_phase_t phases[2000];
static atomic_int nr_phases, nr_inside, nr_overlaps;
static long nr_completed; /* only the barrier orders accesses to it */

static void complete(void *arg)
{
	nr_overlaps += nr_inside++ != 0;
	/* Only sometimes: on a busy machine a yield may take a time slice. */
	if (nr_completed % 8 == 0)
		sched_yield();
	nr_completed++;
	nr_inside--;
}

static void phase_came(drover_phase_t phase)
{
	int nr = nr_phases++;

	if (nr < NR_OF(phases))
		phases[nr] = phase;
}

static int wrong_completions(long wanted)
{
	int nr = nr_phases < NR_OF(phases) ? nr_phases : NR_OF(phases);
	int nr_twice = 0;

	for (int i = 0; i < nr; i++)
		for (int j = 0; j < i; j++)
			nr_twice += phases[i] == phases[j];
	return nr_overlaps + nr_twice + (nr_completed != wanted);
}

/*
 * One phase: mostly a wait, and at times an arrival and a wait for the phase.
 */
static void meet(struct runner *r)
{
	drover_phase_t phase;
	int ret;

	if (random_below(&r->random, 8)) {
		ret = drover_barrier_wait(&barrier);
	} else {
		ret = drover_barrier_arrive(&barrier, 1, &phase);
		phase_came(phase);
		if (random_below(&r->random, 2))
			sched_yield();
		if (ret == DROVER_BARRIER_SERIAL && random_below(&r->random, 2))
			drover_barrier_forget(&barrier, phase);
		else
			r->nr_wrong +=
				!!drover_barrier_wait_for(&barrier, phase);
	}
	r->nr_serial += ret == DROVER_BARRIER_SERIAL;
	r->nr_wrong += ret != 0 && ret != DROVER_BARRIER_SERIAL;
}

static void *run(void *arg)
{
	struct runner *r = arg, *other;

	for (long i = 1; i <= nr_rounds; i++) {
		other = &runners[random_below(&r->random, nr_threads)];
		r->turn = i;
		meet(r);
		r->nr_wrong += other->turn != i;
		/* This phase lies between the read and the next write. */
		meet(r);
	}
	nr_over++;
	return NULL;
}

/*
 * Every fourth round, when both threads are here, one of them sets the count.
 */
static void *run_reopened(void *arg)
{
	struct runner *r = arg;

	for (int i = 1; i <= nr_rounds; i++) {
		meet(r);
		meet(r);
		if (i % 4)
			continue;
		if (r->nr)
			reached(&nr_back, i);
		else
			r->nr_wrong += !!drover_barrier_set_count(&barrier, 2);
		if (!r->nr)
			nr_back = i;
	}
	nr_over++;
	return NULL;
}

/* Three threads share an even number of arrivals at a barrier for two. */
static void *run_three(void *arg)
{
	while (atomic_fetch_sub(&nr_to_come, 1) > 0)
		meet(arg);
	nr_over++;
	return NULL;
}

/* Give all threads one CPU, then all again, and so on. */
static void *change_cpus(void *arg)
{
	cpu_set_t all = own_cpus(), one = one_cpu();

	while (!over) {
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

static const struct kind {
	const char *what;
	int nr, count;
	void *(*main)(void *);
	bool changing, spins;
	int lives; /* 0: one, of many phases */
} kinds[] = {
	{ "one thread", 1, 1, run, false, true, 0 },
	{ "2 threads", 2, 2, run, false, true, 0 },
	{ "3 threads", 3, 3, run, false, true, 0 },
	{ "8 threads", 8, 8, run, false, true, 0 },
	{ "64 threads", 64, 64, run, false, true, 0 },
	{ "256 threads", 256, 256, run, false, true, 0 },
	{ "2 threads, their CPUs change", 2, 2, run, true, true, 0 },
	{ "5 threads, their CPUs change", 5, 5, run, true, true, 0 },
	{ "5 threads, no spinning", 5, 5, run, false, false, 0 },
	{ "2 threads, the count is set again and again", 2, 2, run_reopened,
	  false, true, 0 },
	{ "the same, no spinning", 2, 2, run_reopened, false, false, 0 },
	{ "3 threads at a barrier for 2", 3, 2, run_three, false, true, 0 },
	{ "the same, no spinning", 3, 2, run_three, false, false, 0 },
	{ "4 threads, each completes a phase", 4, 1, run_three, false, true,
	  0 },
	{ "3 threads at 100 barriers for 2", 3, 2, run_three, false, true,
	  100 },
	{ "the same, no spinning", 3, 2, run_three, false, false, 100 },
};

/* Each thread completes phases, and there is a completion function. */
static bool is_of_one(const struct kind *kind)
{
	return kind->count == 1 && kind->nr > 1;
}

/* The threads of one barrier. Return: how many phases were completed. */
static long run_life(const struct kind *kind, uint64_t *seed, long *nr_wrong)
{
	const drover_barrierattr_t attr = {
		.spin_us = kind->spins ? 0 : DROVER_BARRIER_NO_SPIN,
		.completion = is_of_one(kind) ? complete : NULL,
	};
	long nr_serial = 0;
	pthread_t changer;

	nr_over = nr_back = nr_phases = nr_completed = 0;
	nr_to_come = kind->count * nr_threads * nr_rounds;
	if (kind->lives && kind->spins)
		barrier = (drover_barrier_t)DROVER_BARRIER_INITIALIZER(2);
	else
		MUST(drover_barrier_init(&barrier, kind->count, &attr));
	for (int i = 0; i < nr_threads; i++)
		runners[i] =
			(struct runner){ .nr = i, .random = random_next(seed) };
	for (int i = 0; i < nr_threads; i++)
		start_thread(&runners[i].thread, kind->main, &runners[i]);
	over = false;
	if (kind->changing) {
		changer = thread_of(change_cpus, NULL);
		/* No thread is joined before: change_cpus() uses their ids. */
		reached(&nr_over, nr_threads);
		over = true;
		joined(changer);
	}
	for (int i = 0; i < nr_threads; i++) {
		joined(runners[i].thread);
		nr_serial += runners[i].nr_serial;
		*nr_wrong += runners[i].nr_wrong;
	}
	MUST(drover_barrier_destroy(&barrier));
	if (is_of_one(kind))
		*nr_wrong += wrong_completions(nr_serial);
	return nr_serial;
}

static void test_kind(const struct kind *kind, long rounds, uint64_t *seed)
{
	int nr_lives = kind->lives ? kind->lives : 1;
	long nr_serial = 0, nr_wrong = 0, wanted;

	watchdog(kind->what);
	nr_threads = kind->nr;
	nr_rounds = kind->lives ? 8 : rounds / kind->nr + 1;
	if (is_of_one(kind))
		nr_rounds = NR_ALONE;
	wanted = 2 * nr_rounds;
	if (kind->main == run_three)
		wanted = kind->nr * nr_rounds * nr_lives;
	for (int i = 0; i < nr_lives; i++)
		nr_serial += run_life(kind, seed, &nr_wrong);
	tap_ok(!nr_wrong && nr_serial == wanted,
	       "%s: %ld wrong, %ld serial threads for %ld phases", kind->what,
	       nr_wrong, nr_serial, wanted);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "seed rounds");
	uint64_t seed = args_get(&args, "seed", args_fresh_seed());
	long rounds = args_get(&args, "rounds", 800);

	tap_plan(NR_OF(kinds));
	tap_diag("seed=%" PRIu64, seed);
	for (int i = 0; i < NR_OF(kinds); i++)
		test_kind(&kinds[i], rounds, &seed);
	return tap_exit();
}
