// SPDX-License-Identifier: GPL-2.0-only
/*
 * A broadcast while the mutex is in use makes at most one waiter runnable and
 * moves the rest to the mutex; under wake-all, and where the kernel cannot
 * move, it wakes all. Who was woken sleeps on the mutex afterwards, and who was
 * moved is still in its first sleep: see fixture.h.
 *
 * APIs: drover pthread
 */
#include "fixture.h"
#include "run.h"
#include "tap.h"

#define NR_WAITERS 50
#define NR_YOUNGER 20

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;

/* A thread that has the mutex until it is told to let go. */
static struct {
	pthread_t thread;
	atomic_int has_it;
	atomic_bool let_go;
} holder;

static void *hold(void *arg)
{
	(void)arg;
	api_mutex_lock(&mutex);
	atomic_store(&holder.has_it, 1);
	while (!atomic_load(&holder.let_go))
		sched_yield();
	api_mutex_unlock(&mutex);
	return NULL;
}

static void holder_start(void)
{
	atomic_store(&holder.has_it, 0);
	atomic_store(&holder.let_go, false);
	if (pthread_create(&holder.thread, NULL, hold, NULL) ||
	    wait_at_least(&holder.has_it, 1))
		tap_bail("no thread took the mutex");
}

static void holder_end(void)
{
	atomic_store(&holder.let_go, true);
	pthread_join(holder.thread, NULL);
}

static void test_held_by_caller(const char *policy)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);
	int nr_woken = policy_moves(policy) ? 0 : NR_WAITERS;

	fixture_add(&fixture, NR_WAITERS);
	api_mutex_lock(&mutex);
	api_cond_broadcast(&cond);
	tap_is(fixture_count(&fixture, AT_MUTEX), nr_woken,
	       "%s: broadcast by the mutex's holder wakes %d", policy,
	       nr_woken);
	tap_is(fixture_count(&fixture, RETURNED), 0, "%s: nobody returns yet",
	       policy);
	api_mutex_unlock(&mutex);
	fixture_end(&fixture);
}

static void test_held_by_other(const char *policy)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);
	int nr_woken = policy_moves(policy) ? 1 : NR_WAITERS;

	fixture_add(&fixture, NR_WAITERS);
	holder_start();
	api_cond_broadcast(&cond);
	tap_is(fixture_count(&fixture, AT_MUTEX), nr_woken,
	       "%s: broadcast while another thread holds it wakes %d", policy,
	       nr_woken);
	holder_end();
	fixture_end(&fixture);
}

static void test_two_groups(const char *policy, bool by_holder)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);
	int nr_woken = policy_moves(policy) ? !by_holder : NR_WAITERS - 1;

	fixture_add_two(&fixture, NR_WAITERS - NR_YOUNGER, NR_YOUNGER);
	if (by_holder)
		api_mutex_lock(&mutex);
	else
		holder_start();
	api_cond_broadcast(&cond);
	tap_is(fixture_count(&fixture, AT_MUTEX), nr_woken,
	       "%s: of older and younger waiters, %s, it wakes %d", policy,
	       by_holder ? "by the holder" : "held by another", nr_woken);
	if (by_holder)
		api_mutex_unlock(&mutex);
	else
		holder_end();
	fixture_end(&fixture);
}

/*
 * Nobody holds the mutex. The first to return keeps it, so that the rest stay
 * where the broadcast put them.
 */
static void test_free(const char *policy)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);
	bool moves = policy_moves(policy) && strcmp(policy, "requeue") == 0;
	int nr_woken = moves ? 1 : NR_WAITERS;

	fixture_add(&fixture, NR_WAITERS);
	atomic_store(&fixture.keep, true);
	api_cond_broadcast(&cond);
	fixture_returned(&fixture, 1);
	tap_is(fixture_count(&fixture, AT_MUTEX) + 1, nr_woken,
	       "%s: with the mutex free it wakes %d", policy, nr_woken);
	tap_is(fixture_count(&fixture, RETURNED), 1,
	       "%s: one returns at a time", policy);
	fixture_end(&fixture);
}

static void test_signal(const char *policy)
{
	struct fixture fixture = fixture_of(&cond, &mutex, 3);
	int nr_woken = policy_moves(policy) ? 0 : 1;

	fixture_add(&fixture, 3);
	api_mutex_lock(&mutex);
	api_cond_signal(&cond);
	tap_is(fixture_count(&fixture, AT_MUTEX), nr_woken,
	       "%s: signal by the mutex's holder wakes %d", policy, nr_woken);
	api_mutex_unlock(&mutex);
	fixture_gone(&fixture, 1);
	tap_ok(fixture_count(&fixture, RETURNED) == 1 &&
		       fixture_count(&fixture, AT_COND) == 2,
	       "%s: its unlock returns that one alone", policy);
	api_cond_broadcast(&cond);
	fixture_end(&fixture);
}

/* Every one of them has to be woken by the unlock of the one before. */
static void test_chain(const char *policy)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);

	fixture_add(&fixture, NR_WAITERS);
	api_mutex_lock(&mutex);
	api_cond_broadcast(&cond);
	api_mutex_unlock(&mutex);
	fixture_gone(&fixture, NR_WAITERS);
	tap_is(fixture_results(&fixture, 0), NR_WAITERS, "%s: all return 0",
	       policy);
	fixture_end(&fixture);
}

static void test(const char *policy)
{
	watchdog("broadcast");
	test_held_by_caller(policy);
	test_held_by_other(policy);
	test_two_groups(policy, true);
	test_two_groups(policy, false);
	test_free(policy);
	test_signal(policy);
	test_chain(policy);
}

int main(int argc, char **argv)
{
	(void)argc;
	api_start(argv);
	return policy_main(argv, 10, test);
}
