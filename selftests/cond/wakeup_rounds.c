// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waits without a predicate: every broadcast returns every waiter once, every
 * signal one, and between them nobody returns.
 *
 * APIs: drover pthread
 */
#include "steps.h"

#define NR_THREADS 8
#define NR_WAITERS 5

static api_cond_t all_here = API_COND_INITIALIZER;

/* All under the mutex. */
static int nr_here, round_nr, nr_spurious;
static int nr_rounds;

static void *wait_each_round(void *arg)
{
	api_mutex_lock(&mutex);
	for (int i = 0; i < nr_rounds; i++) {
		if (++nr_here == NR_THREADS)
			api_cond_signal(&all_here);
		api_cond_wait(&cond, &mutex);
		/* The next round cannot begin before we wait again. */
		nr_spurious += round_nr != i + 1;
	}
	api_mutex_unlock(&mutex);
	return arg;
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
	api_cond_broadcast(&cond);
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

/* signals NR HELD: without waiting for what comes of them */
STEP(signals)
{
	for (int i = 0; i < args[0]; i++)
		signal_as(&cond, &mutex, args[1]);
	return 0;
}

static pthread_barrier_t start;

static void *signal_at_start(void *arg)
{
	pthread_barrier_wait(&start);
	api_cond_signal(&cond);
	return arg;
}

/* Two at the same moment, without the mutex: neither may miss. */
STEP(signal_by_two)
{
	pthread_t other;

	pthread_barrier_init(&start, NULL, 2);
	start_thread(&other, signal_at_start, NULL);
	signal_at_start(NULL);
	pthread_barrier_destroy(&start);
	return pthread_join(other, NULL);
}

/*
 * A thread whose time is over on one condvar goes on to wait on another: what
 * the library keeps for those who wait together is used again.
 */
static api_cond_t other_cond = API_COND_INITIALIZER;
static pthread_t walker;
static atomic_int walker_tid, walker_results[2];

static void *wait_on_both(void *arg)
{
	struct timespec past = deadline_in(CLOCK_MONOTONIC, 0);

	api_mutex_lock(&mutex);
	walker_results[0] =
		api_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &past);
	atomic_store(&walker_tid, blocked_gettid());
	walker_results[1] = api_cond_wait(&other_cond, &mutex);
	api_mutex_unlock(&mutex);
	return arg;
}

STEP(walk)
{
	atomic_store(&walker_tid, 0);
	atomic_store(&walker_results[1], -1);
	start_thread(&walker, wait_on_both, NULL);
	if (wait_at_least(&walker_tid, 1) ||
	    place_settled(getpid(), atomic_load(&walker_tid), &mutex))
		tap_bail("it never slept");
	return walker_results[0];
}

STEP(walker_waits)
{
	return place_settled(getpid(), atomic_load(&walker_tid), &mutex) == 0 &&
	       walker_results[1] == -1;
}

STEP(walker_returns)
{
	api_cond_broadcast(&other_cond);
	pthread_join(walker, NULL);
	return walker_results[1];
}

static const struct scene scenes[] = {
	{ "waiters of two condvars, one after the other, are not mixed",
	  "walk = ETIMEDOUT; wait; broadcast; gone 1; zeros = 1;"
	  "walker_waits = 1; walker_returns = 0" },
};

/* Do so many signals return so many of NR_WAITERS waiters? */
static bool signals_return(int nr, bool held)
{
	char steps[STEPS_LENGTH];

	snprintf(steps, sizeof(steps),
		 "wait %d; signals %d %d; gone %d; returned = %d; waiting = %d;"
		 "broadcast; gone %d; zeros = %d",
		 NR_WAITERS, nr, held, nr, nr, NR_WAITERS - nr, NR_WAITERS,
		 NR_WAITERS);
	return scene_holds(steps);
}

static void test_signals(const char *policy, bool held)
{
	bool exact = true;

	for (int nr = 0; nr <= NR_WAITERS; nr++)
		exact = signals_return(nr, held) && exact;
	tap_ok(exact, "%s: k signals, mutex %s, return k of %d", policy,
	       held ? "held" : "free", NR_WAITERS);
}

static void test_two_signallers(const char *policy)
{
	bool ok = true;

	for (int i = 0; i < nr_rounds / 10; i++)
		ok &= scene_holds("wait 2; signal_by_two; gone 2");
	tap_ok(ok, "%s: two signals at once return two", policy);
}

static void test(const char *policy)
{
	scene_start(policy, "normal", false);
	test_broadcasts(policy, false);
	test_broadcasts(policy, true);
	test_signals(policy, false);
	test_signals(policy, true);
	test_two_signallers(policy);
	scenes_test(policy, scenes, 1);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "rounds");

	api_start(argv);
	nr_rounds = args_get(&args, "rounds", 500);
	return policy_main(argv, test);
}
