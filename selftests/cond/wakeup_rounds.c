// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waits without a predicate: every broadcast returns every waiter once, every
 * signal one, and between them nobody returns.
 *
 * APIs: drover pthread
 */
#include "run.h"
#include "fixture.h"
#include "tap.h"

#define NR_THREADS   8
#define NR_WAITERS   5
#define NR_SIGNALLED 2

static api_cond_t go = API_COND_INITIALIZER;
static api_cond_t all_here = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;

/* All under the mutex. */
static int nr_here, round_nr, nr_spurious;
static int nr_rounds;

static void *wait_each_round(void *arg)
{
	(void)arg;
	api_mutex_lock(&mutex);
	for (int i = 0; i < nr_rounds; i++) {
		if (++nr_here == NR_THREADS)
			api_cond_signal(&all_here);
		api_cond_wait(&go, &mutex);
		/* The next round cannot begin before we wait again. */
		nr_spurious += round_nr != i + 1;
	}
	api_mutex_unlock(&mutex);
	return NULL;
}

static void one_broadcast(bool keep)
{
	api_mutex_lock(&mutex);
	while (nr_here < NR_THREADS)
		api_cond_wait(&all_here, &mutex);
	nr_here = 0;
	round_nr++;
	if (!keep)
		api_mutex_unlock(&mutex);
	api_cond_broadcast(&go);
	if (keep)
		api_mutex_unlock(&mutex);
}

static void test_broadcasts(const char *policy, bool keep)
{
	pthread_t threads[NR_THREADS];

	watchdog("rounds of broadcasts");
	nr_here = 0;
	round_nr = 0;
	nr_spurious = 0;
	for (int i = 0; i < NR_THREADS; i++)
		start_thread(&threads[i], wait_each_round, NULL);
	for (int i = 0; i < nr_rounds; i++)
		one_broadcast(keep);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	tap_is(nr_spurious, 0, "%s: %d broadcasts, mutex %s, each returns all",
	       policy, nr_rounds, keep ? "kept" : "free");
}

static void signal_once(bool keep)
{
	signal_as(&go, &mutex, keep);
}

/* Do @nr signals return exactly @nr of NR_WAITERS waiters? */
static bool signals_return(int nr, bool keep)
{
	struct fixture fixture = fixture_of(&go, &mutex, NR_WAITERS);
	bool exact;

	fixture_add(&fixture, NR_WAITERS);
	for (int i = 0; i < nr; i++)
		signal_once(keep);
	fixture_gone(&fixture, nr);
	exact = fixture_count(&fixture, RETURNED) == nr &&
		fixture_count(&fixture, AT_COND) == NR_WAITERS - nr;
	api_cond_broadcast(&go);
	fixture_gone(&fixture, NR_WAITERS);
	exact = exact && fixture_results(&fixture, 0) == NR_WAITERS;
	fixture_end(&fixture);
	return exact;
}

static void test_signals(const char *policy, bool keep)
{
	bool exact = true;

	watchdog("rounds of signals");
	for (int nr = 0; nr <= NR_WAITERS; nr++)
		if (!signals_return(nr, keep)) {
			tap_diag("not so with %d", nr);
			exact = false;
		}
	tap_ok(exact, "%s: k signals, mutex %s, return k of %d", policy,
	       keep ? "kept" : "free", NR_WAITERS);
}

static void *signal_go(void *start)
{
	pthread_barrier_wait(start);
	api_cond_signal(&go);
	return NULL;
}

/* Two at the same moment, without the mutex: neither may miss. */
static void two_signallers(void)
{
	struct fixture fixture = fixture_of(&go, &mutex, NR_SIGNALLED);
	pthread_barrier_t start;
	pthread_t other;

	fixture_add(&fixture, NR_SIGNALLED);
	pthread_barrier_init(&start, NULL, 2);
	start_thread(&other, signal_go, &start);
	signal_go(&start);
	pthread_join(other, NULL);
	pthread_barrier_destroy(&start);
	fixture_end(&fixture);
}

static void test_two_signallers(const char *policy)
{
	watchdog("two signallers at once");
	for (int i = 0; i < nr_rounds / 10; i++)
		two_signallers();
	tap_ok(true, "%s: two signals at once return two", policy);
}

static void test(const char *policy)
{
	test_broadcasts(policy, false);
	test_broadcasts(policy, true);
	test_signals(policy, false);
	test_signals(policy, true);
	test_two_signallers(policy);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "rounds");

	api_start(argv);
	nr_rounds = args_get(&args, "rounds", 500);
	return policy_main(argv, 5, test);
}
