// SPDX-License-Identifier: GPL-2.0-only
/*
 * A wait by a thread that does not hold the mutex: EPERM, and whatever the
 * others do meanwhile is neither lost nor taken by somebody else.
 *
 * APIs: drover pthread
 */
#include "run.h"
#include "fixture.h"
#include "preempt.h"

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_CHECKED_INITIALIZER;
static struct fixture fixture;
static int own_result;

static void wait_not_held(void *arg)
{
	(void)arg;
	own_result = api_cond_wait(&cond, &mutex);
}

static void nobody_waits(void)
{
	fixture = fixture_of(&cond, &mutex, 1);
}

static void one_waits(void)
{
	fixture = fixture_of(&cond, &mutex, 2);
	fixture_wait(&fixture);
}

static void other_signals(void)
{
	api_cond_signal(&cond);
}

static void other_signals_held(void)
{
	api_mutex_lock(&mutex);
	api_cond_signal(&cond);
	api_mutex_unlock(&mutex);
}

static void other_broadcasts_held(void)
{
	api_mutex_lock(&mutex);
	api_cond_broadcast(&cond);
	api_mutex_unlock(&mutex);
}

/* And then somebody else begins to wait, for whom it was not. */
static void broadcast_and_wait(void)
{
	struct member *newcomer;

	api_cond_broadcast(&cond);
	newcomer = fixture_start(&fixture, NULL);
	member_has_joined(newcomer);
	while (member_place(newcomer) == AWAKE)
		sched_yield();
}

static bool the_waiter_returns(void)
{
	fixture_gone(&fixture, 1);
	fixture_end(&fixture);
	return own_result == EPERM;
}

static bool the_newcomer_waits(void)
{
	bool waits = fixture_count(&fixture, AT_COND) == 1 &&
		     fixture_count(&fixture, RETURNED) == fixture.nr - 1;

	api_cond_broadcast(&cond);
	fixture_end(&fixture);
	return waits && own_result == EPERM;
}

static const struct scenario scenarios[] = {
	{ "not held, and a signal: the waiter returns", one_waits,
	  wait_not_held, other_signals, the_waiter_returns },
	{ "not held, and a signal, mutex held: the waiter returns", one_waits,
	  wait_not_held, other_signals_held, the_waiter_returns },
	{ "not held, and a broadcast, mutex held: the waiter returns",
	  one_waits, wait_not_held, other_broadcasts_held, the_waiter_returns },
	{ "not held, and a broadcast: a newcomer waits", nobody_waits,
	  wait_not_held, broadcast_and_wait, the_newcomer_waits },
	{ "not held, and a broadcast to another: a newcomer waits", one_waits,
	  wait_not_held, broadcast_and_wait, the_newcomer_waits },
};

#define NR_SCENARIOS ((int)(sizeof(scenarios) / sizeof(scenarios[0])))

static void test(const char *policy)
{
	scenarios_test(policy, scenarios, NR_SCENARIOS);
}

int main(int argc, char **argv)
{
	api_start(argv);
	scenarios_start(argc, argv, 150);
	return policy_main(argv, NR_SCENARIOS, test);
}
