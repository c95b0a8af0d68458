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

	fixture_add(&fixture, NR_WAITERS);
	broadcast_as(&cond, &mutex, true);
	return fixture_all(&fixture);
}

static bool broadcast_again(void)
{
	return broadcast_held() && broadcast_held();
}

static bool broadcast_two_groups(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);

	fixture_add_two(&fixture, NR_WAITERS / 2, NR_WAITERS / 2);
	broadcast_as(&cond, &mutex, true);
	return fixture_all(&fixture);
}

static bool signals_held(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);

	fixture_add(&fixture, NR_WAITERS);
	return fixture_signals(&fixture, true);
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
