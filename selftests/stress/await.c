// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads wait with predicates on one condvar for things of several kinds, with
 * deadlines and without, and take them. Other threads make as many things, and
 * signal or broadcast, with the mutex held and after its release. If a wake-up
 * is lost, things are left and threads wait for ever.
 *
 *	seed=N
 *	things=N	how many things each thread takes or makes
 *	pairs=N		how many threads take, and how many make
 */
#include <drover/cond.h>

#include "blocked.h"
#include "run.h"

#define NR_KINDS   5
#define MOST_PAIRS 8

static drover_cond_t cond;
static drover_mutex_t mutex;
static int things[NR_KINDS];  /* [mutex] */
static int nr_made, nr_taken; /* [mutex] */
static atomic_int nr_takers;  /* threads that still take */
static int per_thread;
static int nr_pairs; /* each has a thread that takes and one that makes */
static uint64_t seed;
static atomic_int nr_wrong;

static bool there_is(void *kind)
{
	return *(int *)kind > 0;
}

/* Take one thing, of a kind that is drawn. */
static void take(uint64_t *state)
{
	int *kind = &things[random_below(state, NR_KINDS)], err;
	bool timed = random_below(state, 3) == 0;

	do {
		struct timespec soon = deadline_in(CLOCK_MONOTONIC,
						   random_below(state, 100000));

		if (timed)
			err = drover_cond_await_until(&cond, &mutex, there_is,
						      kind, CLOCK_MONOTONIC,
						      &soon);
		else
			err = drover_cond_await(&cond, &mutex, there_is, kind);
		nr_wrong += err && (!timed || err != ETIMEDOUT);
		nr_wrong += (err == 0) != (*kind > 0);
	} while (err == ETIMEDOUT);
	--*kind;
	nr_taken++;
}

static void *taker(void *number)
{
	uint64_t state = seed + (intptr_t)number;

	for (int i = 0; i < per_thread; i++) {
		drover_mutex_lock(&mutex);
		take(&state);
		drover_mutex_unlock(&mutex);
	}
	nr_takers--;
	return NULL;
}

static void *maker(void *number)
{
	uint64_t state = seed + (intptr_t)number;

	for (int i = 0; i < per_thread; i++) {
		bool held = random_below(&state, 2);
		bool all = random_below(&state, 4) == 0;
		int kind;

		drover_mutex_lock(&mutex);
		kind = random_below(&state, NR_KINDS);
		things[kind]++;
		nr_made++;
		if (!held)
			drover_mutex_unlock(&mutex);
		nr_wrong += (all ? drover_cond_broadcast(&cond) :
				   drover_cond_signal(&cond)) != 0;
		if (held)
			drover_mutex_unlock(&mutex);
		if (random_below(&state, 8) == 0)
			sched_yield();
	}
	return NULL;
}

/*
 * The kinds that are made at random are not the kinds that are taken. This
 * thread makes one thing of each kind of which there is none, each with one
 * signal. The signal has to find the waiter for this kind.
 */
static void *rest_maker(void *arg)
{
	while (nr_takers > 0) {
		bool any = false;

		drover_mutex_lock(&mutex);
		for (int i = 0; i < NR_KINDS; i++)
			if (things[i] == 0) {
				things[i]++;
				nr_made++;
				any = true;
				drover_cond_signal(&cond);
			}
		drover_mutex_unlock(&mutex);
		if (!any)
			sched_yield();
	}
	return arg;
}

static void *player(void *arg)
{
	intptr_t number = (intptr_t)arg;

	if (number < nr_pairs)
		return taker(arg);
	return number < 2 * nr_pairs ? maker(arg) : rest_maker(arg);
}

static void test(uint32_t flags, const char *name)
{
	drover_mutexattr_t attr = { .flags = flags };
	int left = 0;

	watchdog(name);
	tap_must(drover_mutex_init(&mutex, &attr), "mutex_init");
	memset(things, 0, sizeof(things));
	nr_made = nr_taken = 0;
	nr_takers = nr_pairs;
	run_threads(2 * nr_pairs + 1, player);
	for (int i = 0; i < NR_KINDS; i++)
		left += things[i];
	tap_ok(nr_wrong == 0 && nr_taken == nr_pairs * per_thread &&
		       nr_made == nr_taken + left,
	       "%s: %d things taken by %d threads, none twice", name, nr_taken,
	       nr_pairs);
	tap_must(drover_cond_destroy(&cond), "destroy");
	memset(&cond, 0, sizeof(cond));
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "seed things pairs");

	seed = args_get(&args, "seed", args_fresh_seed());
	per_thread = args_get(&args, "things", guest_share(3000));
	nr_pairs = args_get(&args, "pairs", MOST_PAIRS);
	tap_plan(3);
	tap_diag("seed=%" PRIu64, seed);
	test(0, "normal");
	test(DROVER_MUTEX_RECURSIVE, "recursive");
	test(DROVER_MUTEX_PI, "PI");
	return tap_exit();
}
