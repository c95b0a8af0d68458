// SPDX-License-Identifier: GPL-2.0-only
/*
 * In the child of a fork a private condvar has no waiters and no locked lock,
 * whatever its threads were doing in the parent; and the parent's waiters go
 * on as if nothing had been.
 *
 * APIs: drover pthread
 */
#include "run.h"
#include "fixture.h"
#include "blocked.h"
#include "tap.h"

#define NR_WAITERS 4
#define NR_BUSY	   3

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;
static int nr_rounds;

static bool signal_alone(void)
{
	return api_cond_signal(&cond) == 0;
}

static bool broadcast_alone(void)
{
	return api_cond_broadcast(&cond) == 0;
}

static bool destroy_alone(void)
{
	return api_cond_destroy(&cond) == 0;
}

static bool time_out(api_mutex_t *with)
{
	struct timespec past = deadline_in(CLOCK_MONOTONIC, -1);
	bool ok;

	api_mutex_lock(with);
	ok = api_cond_clockwait(&cond, with, CLOCK_MONOTONIC, &past) ==
	     ETIMEDOUT;
	api_mutex_unlock(with);
	return ok;
}

static bool wait_alone(void)
{
	return time_out(&mutex);
}

/* A stale waiter would take one of these signals. */
static bool wait_and_signal(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);
	bool exact = true;

	fixture_add(&fixture, NR_WAITERS);
	for (int i = 1; i < NR_WAITERS; i++) {
		api_cond_signal(&cond);
		fixture_gone(&fixture, i);
		exact = exact && fixture_count(&fixture, RETURNED) == i;
	}
	api_mutex_lock(&mutex);
	api_cond_broadcast(&cond);
	api_mutex_unlock(&mutex);
	fixture_end(&fixture);
	return exact && api_cond_destroy(&cond) == 0;
}

static bool grandchild(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);

	fixture_add(&fixture, NR_WAITERS);
	return child_does(wait_and_signal, "the grandchild of a fork");
}

static const struct work {
	const char *name;
	bool (*work)(void);
	bool starts_threads;
} works[] = {
	{ "signals", signal_alone, false },
	{ "broadcasts", broadcast_alone, false },
	{ "destroys", destroy_alone, false },
	{ "waits until a deadline", wait_alone, false },
	{ "has waiters and signals of its own", wait_and_signal, true },
	{ "forks with waiters of its own", grandchild, true },
};

#define NR_WORKS ((int)(sizeof(works) / sizeof(works[0])))

static void test_waiters(const char *policy)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);

	/* Of two groups: one signal has been posted and taken. */
	fixture_add_two(&fixture, NR_WAITERS / 2, NR_WAITERS / 2);
	for (int i = 0; i < NR_WORKS; i++) {
		const struct work *work = &works[i];

		if (work->starts_threads && !CHILDREN_MAY_HAVE_THREADS)
			tap_skip(work->name, "not with ThreadSanitizer");
		else
			tap_ok(child_does(work->work, work->name),
			       "%s: with waiters in the parent, a child %s",
			       policy, work->name);
	}
	tap_is(fixture_count(&fixture, AT_COND), NR_WAITERS - 1,
	       "%s: the parent's waiters still wait", policy);
	api_cond_broadcast(&cond);
	fixture_gone(&fixture, NR_WAITERS);
	tap_is(fixture_results(&fixture, 0), NR_WAITERS,
	       "%s: and its broadcast returns them", policy);
	fixture_end(&fixture);
}

static atomic_bool stop;

/* Signals, broadcasts and waits, so that the inside is always in motion. */
static void *keep_busy(void *arg)
{
	struct timespec soon;

	(void)arg;
	while (!atomic_load(&stop)) {
		soon = deadline_in(CLOCK_MONOTONIC, 20000);
		api_mutex_lock(&mutex);
		api_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &soon);
		api_mutex_unlock(&mutex);
		api_cond_signal(&cond);
		api_cond_broadcast(&cond);
	}
	return NULL;
}

/* The mutex may have been held by a thread that is not here: another one. */
static bool use_all(void)
{
	api_mutex_t own = API_MUTEX_INITIALIZER;

	return signal_alone() && time_out(&own) && broadcast_alone() &&
	       destroy_alone();
}

static void test_busy(const char *policy)
{
	pthread_t threads[NR_BUSY];
	int nr_failed = 0;

	atomic_store(&stop, false);
	for (int i = 0; i < NR_BUSY; i++)
		start_thread(&threads[i], keep_busy, NULL);
	for (int i = 0; i < nr_rounds; i++)
		nr_failed += !child_does(use_all, "a child of a busy parent");
	atomic_store(&stop, true);
	for (int i = 0; i < NR_BUSY; i++)
		pthread_join(threads[i], NULL);
	tap_is(nr_failed, 0, "%s: %d forks while others are in their calls",
	       policy, nr_rounds);
}

static void test(const char *policy)
{
	watchdog("fork with waiters");
	test_waiters(policy);
	watchdog("fork of a busy process");
	test_busy(policy);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "rounds");

	api_start(argv);
	nr_rounds = args_get(&args, "rounds", 100);
	return policy_main(argv, NR_WORKS + 3, test);
}
