// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handlers that interrupt a wait, before and after it was moved to the mutex,
 * with and without SA_RESTART: no spurious return and no lost wakeup, neither
 * for the condvar's waiters nor for the mutex's.
 *
 * APIs: drover pthread
 */
#include "fixture.h"
#include "blocked.h"
#include "run.h"
#include "tap.h"

#define NR_WAITERS 6
#define NR_SIGNALS 5

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;
static atomic_int nr_handled;

/* How a waiter waits and is interrupted. */
struct mode {
	const char *name;
	int sa_flags;
	bool timed;
};

static const struct mode modes[] = {
	{ "SA_RESTART", SA_RESTART, false },
	{ "no SA_RESTART", 0, false },
	{ "SA_RESTART, timed", SA_RESTART, true },
	{ "no SA_RESTART, timed", 0, true },
};

#define NR_MODES ((int)(sizeof(modes) / sizeof(modes[0])))

static void handle(int signal)
{
	(void)signal;
	atomic_fetch_add(&nr_handled, 1);
}

static void interrupt(struct member *member, const struct mode *mode)
{
	const struct sigaction action = {
		.sa_handler = handle,
		.sa_flags = mode->sa_flags,
	};

	sigaction(SIGUSR1, &action, NULL);
	atomic_store(&nr_handled, 0);
	pthread_kill(member->thread, SIGUSR1);
	if (wait_at_least(&nr_handled, 1))
		tap_bail("the signal was never handled");
}

static void interrupt_all(struct fixture *fixture, const struct mode *mode)
{
	for (int i = 0; i < fixture->nr; i++)
		interrupt(&fixture->members[i], mode);
}

static void fill(struct fixture *fixture, const struct mode *mode)
{
	static struct timespec far;
	const struct member how = {
		.deadline = mode->timed ? &far : NULL,
		.clock = CLOCK_MONOTONIC,
	};

	far = deadline_in(CLOCK_MONOTONIC, 1000 * NS_PER_S);
	for (int i = 0; i < NR_WAITERS; i++)
		member_asleep(fixture_start(fixture, &how));
}

static void test_asleep(const char *policy, const struct mode *mode)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);

	fill(&fixture, mode);
	for (int i = 0; i < NR_SIGNALS; i++)
		interrupt_all(&fixture, mode);
	tap_is(fixture_count(&fixture, AT_COND), NR_WAITERS,
	       "%s: %s: handlers run, nobody returns", policy, mode->name);
	api_cond_signal(&cond);
	fixture_gone(&fixture, 1);
	tap_is(fixture_count(&fixture, AT_COND), NR_WAITERS - 1,
	       "%s: %s: a signal returns one", policy, mode->name);
	api_cond_broadcast(&cond);
	fixture_gone(&fixture, NR_WAITERS);
	tap_is(fixture_results(&fixture, 0), NR_WAITERS,
	       "%s: %s: a broadcast the others", policy, mode->name);
	fixture_end(&fixture);
}

static void test_moved(const char *policy, const struct mode *mode)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);

	fill(&fixture, mode);
	api_mutex_lock(&mutex);
	api_cond_broadcast(&cond);
	for (int i = 0; i < NR_SIGNALS; i++)
		interrupt_all(&fixture, mode);
	tap_is(fixture_count(&fixture, RETURNED), 0,
	       "%s: %s: unblocked, but without the mutex", policy, mode->name);
	api_mutex_unlock(&mutex);
	fixture_gone(&fixture, NR_WAITERS);
	tap_is(fixture_results(&fixture, 0), NR_WAITERS, "%s: %s: all return 0",
	       policy, mode->name);
	fixture_end(&fixture);
}

static void *lock_once(void *arg)
{
	atomic_store((atomic_int *)arg, blocked_gettid());
	api_mutex_lock(&mutex);
	api_mutex_unlock(&mutex);
	return NULL;
}

/*
 * A signal moves the first waiter to the mutex, a plain locker queues behind
 * it, and an interrupted waiter takes the signal. The unlock's wake-up then
 * comes to the first waiter, who has no use for it: it must go on to the
 * locker, for nobody else will wake that.
 */
static void test_swallowed(const char *policy, const struct mode *mode)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);
	atomic_int tid = 0;
	pthread_t locker;

	fill(&fixture, mode);
	api_mutex_lock(&mutex);
	api_cond_signal(&cond);
	if (pthread_create(&locker, NULL, lock_once, &tid) ||
	    wait_at_least(&tid, 1) ||
	    wait_blocked(getpid(), atomic_load(&tid), &mutex))
		tap_bail("no thread queues for the mutex");
	for (int i = 1; i < NR_WAITERS; i++)
		interrupt(&fixture.members[i], mode);
	fixture_count(&fixture, AWAKE);
	api_mutex_unlock(&mutex);
	pthread_join(locker, NULL);
	fixture_gone(&fixture, 1);
	tap_is(fixture_count(&fixture, RETURNED), 1,
	       "%s: %s: the mutex's wake-up is passed on", policy, mode->name);
	api_cond_broadcast(&cond);
	fixture_end(&fixture);
}

static void test(const char *policy)
{
	for (int i = 0; i < NR_MODES; i++) {
		watchdog(modes[i].name);
		test_asleep(policy, &modes[i]);
		test_moved(policy, &modes[i]);
		test_swallowed(policy, &modes[i]);
	}
}

int main(int argc, char **argv)
{
	(void)argc;
	api_start(argv);
	if (!HANDLERS_ARE_PROMPT)
		return handlers_are_late();
	return policy_main(argv, 6 * NR_MODES, test);
}
