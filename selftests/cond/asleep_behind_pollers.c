// SPDX-License-Identifier: GPL-2.0-only
/*
 * A broadcast finds two groups: those of the older one still poll, one of the
 * younger one sleeps, and a third thread has the mutex. The sleeper was moved
 * behind the older group, and then nobody was woken there, as nobody seemed to
 * sleep: it slept for ever.
 *
 * A poll lasts a tenth of a second here, so all of that fits into one. Where
 * nobody polls, with one CPU, the test is an ordinary broadcast.
 *
 * APIs: drover pthread
 */
#include "fixture.h"
#include "run.h"
#include "tap.h"

#define POLL_NS	  (100 * 1000 * 1000)
#define NR_SAVED  10 /* more polls than a thread has to begin with */
#define NR_ROUNDS 3

static const char *const policy[] = { "auto,spin=100000" };

static api_cond_t cond = API_COND_INITIALIZER, other = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;
static atomic_int spent, may_wait, asleep_tid, held, may_unlock;

/* Spends all that it may poll, and then sleeps at once. */
static void *sleeper(void *arg)
{
	api_mutex_lock(&mutex);
	for (int i = 0; i < NR_SAVED; i++) {
		struct timespec soon = deadline_in(CLOCK_MONOTONIC, POLL_NS);

		api_cond_clockwait(&other, &mutex, CLOCK_MONOTONIC, &soon);
	}
	api_mutex_unlock(&mutex);
	atomic_store(&asleep_tid, blocked_gettid());
	atomic_store(&spent, 1);
	wait_at_least(&may_wait, 1);
	api_mutex_lock(&mutex);
	api_cond_wait(&cond, &mutex);
	api_mutex_unlock(&mutex);
	return arg;
}

static void *holder(void *arg)
{
	api_mutex_lock(&mutex);
	atomic_store(&held, 1);
	wait_at_least(&may_unlock, 1);
	api_mutex_unlock(&mutex);
	return arg;
}

static void start(pthread_t *thread, void *(*body)(void *arg))
{
	start_thread(thread, body, NULL);
}

static void wait_joined(struct member *member)
{
	while (!atomic_load(&member->waiting))
		sched_yield();
	api_mutex_lock(&mutex);
	api_mutex_unlock(&mutex);
}

static void round_of(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, 2);
	pthread_t sleeping, holding;

	watchdog("a broadcast to pollers and a sleeper");
	atomic_store(&spent, 0);
	atomic_store(&may_wait, 0);
	atomic_store(&held, 0);
	atomic_store(&may_unlock, 0);
	start(&sleeping, sleeper);
	wait_at_least(&spent, 1);
	for (int i = 0; i < 2; i++)
		wait_joined(fixture_start(&fixture, NULL));
	api_cond_signal(&cond); /* closes the group; one is left */
	atomic_store(&may_wait, 1);
	if (wait_blocked(getpid(), atomic_load(&asleep_tid), NULL))
		tap_bail("the sleeper never slept");
	start(&holding, holder);
	wait_at_least(&held, 1);
	api_cond_broadcast(&cond);
	atomic_store(&may_unlock, 1);
	pthread_join(holding, NULL);
	pthread_join(sleeping, NULL);
	fixture_gone(&fixture, 2);
	fixture_end(&fixture);
}

static void test(const char *name)
{
	for (int i = 0; i < NR_ROUNDS; i++)
		round_of();
	tap_ok(1, "%s: everybody returns", name);
}

int main(int argc, char **argv)
{
	(void)argc;
	api_start(argv);
	return policies_main(argv, (struct policy_list){ policy, 1 }, 1, test);
}
