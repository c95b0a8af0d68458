// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many threads, one mutex: nobody is in it beside another.
 */
#include "run.h"
#include "blocked.h"
#include "api.h"

#define NR_THREADS 8

static api_mutex_t mutex = API_MUTEX_INITIALIZER;
static uint64_t seed;
static long nr_rounds;

/* Under the mutex. Two words: a second thread inside makes them differ. */
static volatile long entries, exits;
static long nr_collisions;

struct racer {
	pthread_t thread;
	uint64_t random;
	long nr_locked;
	long nr_errors;
};

static int lock_somehow(uint64_t *random)
{
	struct timespec soon;

	switch (random_below(random, 4)) {
	case 0:
		return api_mutex_trylock(&mutex);
	case 1:
		soon = deadline_in(CLOCK_MONOTONIC,
				   random_below(random, 20000));
		return api_mutex_timedlock(&mutex, CLOCK_MONOTONIC, &soon);
	default:
		return api_mutex_lock(&mutex);
	}
}

static void inside(uint64_t *random)
{
	nr_collisions += entries != exits;
	entries++;
	/* Now and then long enough for others to fall asleep. */
	if (random_below(random, 16) == 0)
		sched_yield();
	exits++;
}

static void *race(void *arg)
{
	struct racer *racer = arg;

	for (long i = 0; i < nr_rounds; i++) {
		int err = lock_somehow(&racer->random);

		if (!err) {
			inside(&racer->random);
			racer->nr_locked++;
			racer->nr_errors += api_mutex_unlock(&mutex) != 0;
		} else if (err != EBUSY && err != ETIMEDOUT) {
			racer->nr_errors++;
		}
	}
	return NULL;
}

static void test_exclusion(void)
{
	struct racer racers[NR_THREADS] = { 0 };
	long nr_locked = 0, nr_errors = 0;

	watchdog("contended mutex");
	for (int i = 0; i < NR_THREADS; i++) {
		racers[i].random = random_next(&seed);
		start_thread(&racers[i].thread, race, &racers[i]);
	}
	for (int i = 0; i < NR_THREADS; i++) {
		pthread_join(racers[i].thread, NULL);
		nr_locked += racers[i].nr_locked;
		nr_errors += racers[i].nr_errors;
	}
	tap_is(nr_collisions, 0, "nobody was inside beside another");
	tap_is(entries, nr_locked, "as many were inside as locked");
	tap_is(nr_errors, 0, "no errors");
	tap_is(api_mutex_trylock(&mutex), 0, "free in the end");
	api_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "seed rounds");

	api_start(argv);
	seed = args_get(&args, "seed", args_fresh_seed());
	nr_rounds = args_get(&args, "rounds", 20000);
	tap_plan(4);
	tap_diag("seed=%" PRIu64, seed);
	test_exclusion();
	return tap_exit();
}
