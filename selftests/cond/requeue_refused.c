// SPDX-License-Identifier: GPL-2.0-only
/*
 * In a sandbox that answers EPERM or ENOSYS to requeues every waiter is woken
 * all the same, also by the very call that finds out, and no other call asks
 * again.
 *
 * APIs: drover pthread
 */
#include "fixture.h"
#include "sandbox.h"
#include "run.h"
#include "tap.h"

#define NR_WAITERS 8

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;

static bool broadcast_held(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);
	bool all;

	fixture_add(&fixture, NR_WAITERS);
	api_mutex_lock(&mutex);
	api_cond_broadcast(&cond);
	api_mutex_unlock(&mutex);
	fixture_gone(&fixture, NR_WAITERS);
	all = fixture_results(&fixture, 0) == NR_WAITERS;
	fixture_end(&fixture);
	return all;
}

static bool broadcast_again(void)
{
	return broadcast_held() && broadcast_held();
}

static bool broadcast_two_groups(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);
	bool all;

	fixture_add(&fixture, NR_WAITERS / 2);
	api_cond_signal(&cond);
	fixture_gone(&fixture, 1);
	fixture_add(&fixture, NR_WAITERS / 2);
	api_mutex_lock(&mutex);
	api_cond_broadcast(&cond);
	api_mutex_unlock(&mutex);
	fixture_gone(&fixture, NR_WAITERS);
	all = fixture_results(&fixture, 0) == NR_WAITERS;
	fixture_end(&fixture);
	return all;
}

static bool signals_held(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);
	bool exact = true;

	fixture_add(&fixture, NR_WAITERS);
	for (int i = 1; i <= NR_WAITERS; i++) {
		api_mutex_lock(&mutex);
		api_cond_signal(&cond);
		api_mutex_unlock(&mutex);
		fixture_gone(&fixture, i);
		exact = exact && fixture_count(&fixture, RETURNED) == i;
	}
	fixture_end(&fixture);
	return exact;
}

/* Under a second filter that counts: the first refusal is the last. */
static bool asks_once(void)
{
	if (futex_filter_count())
		return false;
	broadcast_held();
	futex_counts = (struct futex_counts){ 0 };
	broadcast_two_groups();
	signals_held();
	return futex_counts.requeues == 0 && futex_counts.wakes > 0;
}

static void refuse(void)
{
	sandbox_has(futex_filter_refuse(sandbox_error));
}

static const struct sandbox_test tests[] = {
	{ "broadcast, mutex held", broadcast_held },
	{ "two broadcasts", broadcast_again },
	{ "broadcast after a signal", broadcast_two_groups },
	{ "signals, mutex held", signals_held },
	{ "refused once, not asked again", asks_once },
};

#define NR_TESTS ((int)(sizeof(tests) / sizeof(tests[0])))

static void test_one(const char *policy, const struct sandbox_test *test,
		     int error)
{
	if (test->run == asks_once && !HANDLERS_ARE_PROMPT)
		tap_skip(test->name, "ThreadSanitizer delays handlers");
	else
		sandbox_run(policy, test, error, refuse);
}

static void test(const char *policy)
{
	for (int i = 0; i < NR_TESTS; i++) {
		test_one(policy, &tests[i], EPERM);
		test_one(policy, &tests[i], ENOSYS);
	}
}

int main(int argc, char **argv)
{
	(void)argc;
	api_start(argv);
	return policy_main(argv, 2 * NR_TESTS, test);
}
