// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread waits with a recursive mutex that it has locked twice, and so keeps.
 * Whoever signals does without the mutex. A broadcast once moved the waiter to
 * the mutex that it held itself, where nobody would ever wake it.
 *
 * APIs: drover pthread
 */
#include "fixture.h"
#include "run.h"
#include "tap.h"

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex;
static atomic_int tid;

static void make_mutex(void)
{
#ifdef API_PTHREAD
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&mutex, &attr);
	pthread_mutexattr_destroy(&attr);
#else
	const drover_mutexattr_t attr = { .flags = DROVER_MUTEX_RECURSIVE };

	if (drover_mutex_init(&mutex, &attr))
		tap_bail("drover_mutex_init");
#endif
}

static void *wait_as_holder(void *result)
{
	api_mutex_lock(&mutex);
	api_mutex_lock(&mutex);
	atomic_store(&tid, blocked_gettid());
	*(int *)result = api_cond_wait(&cond, &mutex);
	*(int *)result |= api_mutex_unlock(&mutex);
	*(int *)result |= api_mutex_unlock(&mutex);
	return NULL;
}

/* Some who waited before it, with the mutex that it has then. */
static void test_wake(const char *policy, int nr_others, bool broadcast)
{
	struct fixture fixture = fixture_of(&cond, &mutex, nr_others);
	pthread_t holder;
	int result = -1;

	watchdog("a wait with the mutex locked twice");
	fixture_add(&fixture, nr_others);
	atomic_store(&tid, 0);
	if (pthread_create(&holder, NULL, wait_as_holder, &result) ||
	    wait_at_least(&tid, 1) ||
	    wait_blocked(getpid(), atomic_load(&tid), NULL))
		tap_bail("the holder never slept");
	if (broadcast)
		api_cond_broadcast(&cond);
	else
		for (int i = 0; i <= nr_others; i++)
			api_cond_signal(&cond);
	pthread_join(holder, NULL);
	tap_is(result, 0, "%s: %s, %d others: the holder goes on", policy,
	       broadcast ? "broadcast" : "signals", nr_others);
	fixture_end(&fixture);
}

static void test(const char *policy)
{
	make_mutex();
	for (int nr_others = 0; nr_others <= 4; nr_others += 2) {
		test_wake(policy, nr_others, true);
		test_wake(policy, nr_others, false);
	}
}

int main(int argc, char **argv)
{
	(void)argc;
	api_start(argv);
	return policy_main(argv, 6, test);
}
