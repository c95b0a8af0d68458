// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread that begins to wait after a signal does not take it from those who
 * waited before (POSIX.1-2024; sourceware bug 13165).
 *
 * APIs: drover pthread
 */
#include "run.h"
#include "fixture.h"
#include "blocked.h"
#include "tap.h"

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;
static int nr_rounds;

/*
 * The waiters of @fixture are all held off; the signal that comes now is for one
 * of them. A newcomer must go to sleep, and stay so.
 */
static bool newcomer_stays(struct fixture *fixture)
{
	int nr_old = fixture->nr - atomic_load(&fixture->nr_gone);
	int nr_gone = atomic_load(&fixture->nr_gone);
	struct member *newcomer;
	bool stays;

	api_cond_signal(&cond);
	newcomer = fixture_start(fixture, NULL);
	member_has_joined(newcomer);
	while (member_place(newcomer) == AWAKE)
		sched_yield();
	stays = member_place(newcomer) == AT_COND;
	hold_off_end(nr_old);
	fixture_gone(fixture, nr_gone + 1);
	return stays && fixture_count(fixture, RETURNED) == nr_gone + 1 &&
	       member_place(newcomer) == AT_COND;
}

static void test_newcomer(const char *policy)
{
	struct fixture fixture = fixture_of(&cond, &mutex, 3);

	fixture_add(&fixture, 2);
	for (int i = 0; i < 2; i++)
		hold_off(fixture.members[i].thread);
	tap_ok(newcomer_stays(&fixture),
	       "%s: a newcomer leaves the signal to two who waited", policy);
	api_cond_broadcast(&cond);
	fixture_end(&fixture);
}

/* One waiter alone: there is no second to whom the signal might go. */
static void test_newcomer_to_one(const char *policy)
{
	struct fixture fixture = fixture_of(&cond, &mutex, 2);

	hold_off(fixture_wait(&fixture)->thread);
	tap_ok(newcomer_stays(&fixture),
	       "%s: a newcomer leaves the signal to one who waited", policy);
	api_cond_broadcast(&cond);
	fixture_end(&fixture);
}

/* Signals for all who waited; the newcomer comes between them. */
static void test_newcomer_between(const char *policy)
{
	struct fixture fixture = fixture_of(&cond, &mutex, 4);
	struct member *newcomer;

	fixture_add(&fixture, 3);
	for (int i = 0; i < 3; i++)
		hold_off(fixture.members[i].thread);
	api_cond_signal(&cond);
	newcomer = fixture_wait(&fixture);
	api_cond_signal(&cond);
	api_cond_signal(&cond);
	hold_off_end(3);
	fixture_gone(&fixture, 3);
	tap_ok(fixture_count(&fixture, RETURNED) == 3 &&
		       member_place(newcomer) == AT_COND,
	       "%s: three signals go to the three who waited first", policy);
	api_cond_broadcast(&cond);
	fixture_end(&fixture);
}

/*
 * Of two waiters one is signalled and the other times out, so that those whom
 * signals go to are used up without a last signal. Returns whether it went so.
 */
static bool use_up(int64_t ns)
{
	const struct timespec deadline = deadline_in(CLOCK_MONOTONIC, ns);
	const struct member how = {
		.deadline = &deadline,
		.clock = CLOCK_MONOTONIC,
	};
	struct fixture fixture = fixture_of(&cond, &mutex, 2);
	struct member *late;
	bool in_time;

	fixture_wait(&fixture);
	late = fixture_start(&fixture, &how);
	member_has_joined(late);
	while (member_place(late) == AWAKE)
		sched_yield();
	api_cond_signal(&cond);
	in_time = member_place(late) == AT_COND;
	while (member_place(late) != RETURNED)
		sched_yield();
	if (late->result == 0)
		api_cond_broadcast(&cond);
	in_time = in_time && late->result == ETIMEDOUT;
	fixture_end(&fixture);
	return in_time;
}

/* What is remembered of the used-up must not let newcomers in with the old. */
static void test_after_use_up(const char *policy)
{
	struct fixture fixture = fixture_of(&cond, &mutex, 3);
	int64_t ns = 5 * NS_PER_MS;

	for (; !use_up(ns); ns *= 2)
		if (ns > 10 * NS_PER_S)
			tap_bail("never signalled before the timeout");
	fixture_add(&fixture, 2);
	for (int i = 0; i < 2; i++)
		hold_off(fixture.members[i].thread);
	tap_ok(newcomer_stays(&fixture),
	       "%s: the same after a timeout has used up their elders", policy);
	api_cond_broadcast(&cond);
	fixture_end(&fixture);
}

/*
 * Of those who wait with a mutex that inherits priorities the kernel chooses, so
 * a newcomer joins them; but not while one of them is on its way.
 */
static void test_newcomer_to_pi(const char *policy)
{
	struct timespec past = deadline_in(CLOCK_MONOTONIC, -1);
	api_cond_t own = API_COND_INITIALIZER;
	struct fixture fixture;
	api_mutex_t pi;
	int err;

	if (kind_mutex_init(&pi, kind_named("PI"), false))
		tap_bail("no PI mutex");
	fixture = fixture_of(&own, &pi, 2);
	fixture_add(&fixture, 2);
	api_mutex_lock(&pi);
	api_cond_signal(&own);
	err = api_cond_clockwait(&own, &pi, CLOCK_MONOTONIC, &past);
	api_mutex_unlock(&pi);
	tap_is(err, ETIMEDOUT, "%s: a newcomer leaves it the signal, PI",
	       policy);
	api_cond_broadcast(&own);
	fixture_end(&fixture);
}

/*
 * Waits are numbered and signals sent under the mutex, so who returns must
 * have a number that existed when the last signal was sent.
 */
static struct {
	api_mutex_t lock;
	unsigned long nr_waits;	  /* waits begun */
	unsigned long nr_signals; /* signals sent */
	unsigned long nr_returns; /* waits that returned */
	unsigned long newest;	  /* nr_waits at the last signal */
	unsigned long nr_stolen;
	unsigned long goal;
} race = { .lock = API_MUTEX_INITIALIZER };

static void *wait_in_order(void *arg)
{
	(void)arg;
	api_mutex_lock(&race.lock);
	while (race.nr_waits < race.goal) {
		unsigned long number = ++race.nr_waits;

		api_cond_wait(&cond, &race.lock);
		race.nr_returns++;
		race.nr_stolen += number > race.newest;
	}
	api_mutex_unlock(&race.lock);
	return NULL;
}

/* One more signal, if somebody waits whom no signal was sent for. */
static bool signal_in_order(void)
{
	bool done, none_waits;

	api_mutex_lock(&race.lock);
	done = race.nr_returns == race.nr_waits && race.nr_waits >= race.goal;
	none_waits = race.nr_signals == race.nr_waits;
	if (!none_waits) {
		race.nr_signals++;
		race.newest = race.nr_waits;
		api_cond_signal(&cond);
	}
	api_mutex_unlock(&race.lock);
	if (none_waits)
		sched_yield();
	return !done;
}

static void test_race(const char *policy)
{
	pthread_t threads[4];

	watchdog("signals in order");
	race.goal = nr_rounds;
	for (int i = 0; i < 4; i++)
		start_thread(&threads[i], wait_in_order, NULL);
	while (signal_in_order())
		;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	tap_ok(!race.nr_stolen && race.nr_signals == race.nr_returns,
	       "%s: %d signals, none taken by a later waiter", policy,
	       nr_rounds);
}

static void test(const char *policy)
{
	if (!HANDLERS_ARE_PROMPT) {
		test_race(policy);
		return;
	}
	watchdog("newcomers");
	test_newcomer(policy);
	test_newcomer_to_one(policy);
	test_newcomer_between(policy);
	test_after_use_up(policy);
	test_newcomer_to_pi(policy);
	test_race(policy);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "rounds");

	api_start(argv);
	nr_rounds = args_get(&args, "rounds", 5000);
	return policy_main(argv, HANDLERS_ARE_PROMPT ? 6 : 1, test);
}
