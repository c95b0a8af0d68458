// SPDX-License-Identifier: GPL-2.0-only
/*
 * A sandbox that comes when threads already sleep for requeue-PI, and refuses
 * that: nothing but requeue-PI and signals can wake such a thread, yet each has
 * to be woken, by the very call that finds out.
 *
 * APIs: drover pthread
 */
#include "fixture.h"
#include "sandbox.h"
#include "api.h"

#define NR_WAITERS 4

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex;

/* Those that come are refused the wait as well, if @waiters. */
static void refuse(bool waiters)
{
	sandbox_has(futex_filter_refuse_pi(sandbox_error, waiters));
}

static bool broadcast(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);

	fixture_add(&fixture, NR_WAITERS);
	refuse(false);
	broadcast_as(&cond, &mutex, true);
	return fixture_all(&fixture);
}

/* None is lost, and none wakes two. */
static bool signals(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);

	fixture_add(&fixture, NR_WAITERS);
	refuse(false);
	return fixture_signals(&fixture, true);
}

/* Newcomers join those that were there, and may not sleep as they do. */
static bool newcomers(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, 2 * NR_WAITERS);

	fixture_add(&fixture, NR_WAITERS);
	refuse(true);
	fixture_add(&fixture, NR_WAITERS);
	broadcast_as(&cond, &mutex, true);
	return fixture_all(&fixture);
}

/* Those that come when it is known; and none of the first has a group left. */
static bool afterwards(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);

	if (!broadcast())
		return false;
	fixture_add(&fixture, NR_WAITERS);
	broadcast_as(&cond, &mutex, true);
	return fixture_all(&fixture);
}

static const struct sandbox_test tests[] = {
	{ "a broadcast", broadcast },
	{ "signals", signals },
	{ "newcomers", newcomers },
	{ "afterwards", afterwards },
};

#define NR_TESTS ((int)(sizeof(tests) / sizeof(tests[0])))

static void begin(void)
{
	if (kind_mutex_init(&mutex, kind_named("PI"), false))
		_exit(SANDBOX_VIOLATED);
}

int main(int argc, char **argv)
{
	(void)argc;
	api_start(argv);
	tap_plan(2 * NR_TESTS);
	for (int i = 0; i < NR_TESTS; i++) {
		sandbox_run("PI", &tests[i], EPERM, begin);
		sandbox_run("PI", &tests[i], ENOSYS, begin);
	}
	return tap_exit();
}
