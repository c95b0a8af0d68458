// SPDX-License-Identifier: GPL-2.0-only
/*
 * Without memory for a group a wait returns spuriously: 0, with the mutex held
 * again, after it has been released. That is the one spurious return of normal
 * operation. Where there is memory again, waits wait.
 *
 * APIs: drover pthread
 */
#include <sys/resource.h>

#include "fixture.h"
#include "blocked.h"
#include "tap.h"

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_CHECKED_INITIALIZER;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define NEEDS_NO_MEMORY 0
#else
#define NEEDS_NO_MEMORY 1
#endif

/* What is mapped already stays. */
static void take_memory(bool away)
{
	static struct rlimit before;
	struct rlimit none;

	if (away && getrlimit(RLIMIT_AS, &before))
		tap_bail("getrlimit: %s", strerror(errno));
	none = (struct rlimit){ .rlim_max = before.rlim_max };
	if (setrlimit(RLIMIT_AS, away ? &none : &before))
		tap_bail("setrlimit: %s", strerror(errno));
}

static void test_waits(void)
{
	const struct timespec far =
		deadline_in(CLOCK_MONOTONIC, 3600 * NS_PER_S);
	int waited, timed;

	api_mutex_lock(&mutex);
	take_memory(true);
	waited = api_cond_wait(&cond, &mutex);
	timed = api_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &far);
	take_memory(false);
	tap_is(waited, 0, "a wait without memory returns");
	tap_is(timed, 0, "so does one with a deadline, long before it");
	tap_is(api_mutex_unlock(&mutex), 0, "with the mutex held");
}

static void test_signals(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, 3);

	take_memory(true);
	api_cond_signal(&cond);
	api_cond_broadcast(&cond);
	take_memory(false);
	fixture_add(&fixture, 3);
	take_memory(true);
	api_cond_signal(&cond);
	fixture_gone(&fixture, 1);
	tap_is(fixture_count(&fixture, AT_COND), 2, "a signal needs no memory");
	api_cond_broadcast(&cond);
	take_memory(false);
	fixture_gone(&fixture, 3);
	tap_is(fixture_results(&fixture, 0), 3, "nor does a broadcast");
	fixture_end(&fixture);
}

int main(int argc, char **argv)
{
	(void)argc;
	api_start(argv);
	tap_plan(5);
	watchdog("waits without memory");
	if (!NEEDS_NO_MEMORY) {
		for (int i = 0; i < 5; i++)
			tap_skip("no memory", "the sanitizer needs some");
		return tap_exit();
	}
	test_waits();
	test_signals();
	return tap_exit();
}
