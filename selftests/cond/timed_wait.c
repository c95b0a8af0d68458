// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waits with a deadline: ETIMEDOUT and EINVAL, and that a waiter which was
 * unblocked returns 0 while one whose time ran out takes no signal.
 *
 * APIs: drover pthread
 */
#include "run.h"
#include "fixture.h"
#include "blocked.h"
#include "tap.h"

static const struct {
	clockid_t id;
	const char *name;
} clocks[] = {
	{ CLOCK_REALTIME, "CLOCK_REALTIME" },
	{ CLOCK_MONOTONIC, "CLOCK_MONOTONIC" },
};

#define NR_CLOCKS 2

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;
static int nr_rounds;
static uint64_t seed;

static void *try_mutex(void *result)
{
	*(int *)result = api_mutex_trylock(&mutex);
	if (*(int *)result == 0)
		api_mutex_unlock(&mutex);
	return NULL;
}

/* Does this thread hold the mutex? Another one tries. */
static bool mutex_is_held(void)
{
	pthread_t thread;
	int result;

	start_thread(&thread, try_mutex, &result);
	pthread_join(thread, NULL);
	return result == EBUSY;
}

/* A wait of the main thread, which must end with @want and the mutex held. */
static void wait_is(int want, clockid_t clock, struct timespec deadline,
		    const char *what, const char *policy)
{
	int result;

	api_mutex_lock(&mutex);
	result = api_cond_clockwait(&cond, &mutex, clock, &deadline);
	tap_ok(result == want && mutex_is_held(), "%s: %s: %s, the mutex held",
	       policy, what, strerror(want));
	if (result != want)
		tap_diag("got %s", strerror(result));
	api_mutex_unlock(&mutex);
}

static void test_deadlines(const char *policy)
{
	char what[64];

	for (int i = 0; i < NR_CLOCKS; i++) {
		clockid_t clock = clocks[i].id;

		snprintf(what, sizeof(what), "%s, past", clocks[i].name);
		wait_is(ETIMEDOUT, clock, deadline_in(clock, -NS_PER_S), what,
			policy);
		snprintf(what, sizeof(what), "%s, before the epoch",
			 clocks[i].name);
		wait_is(ETIMEDOUT, clock, (struct timespec){ .tv_sec = -1 },
			what, policy);
		snprintf(what, sizeof(what), "%s, in 1 ms", clocks[i].name);
		wait_is(ETIMEDOUT, clock, deadline_in(clock, NS_PER_MS), what,
			policy);
	}
}

/* Not before its time either. */
static void test_not_early(const char *policy)
{
	bool early = false;

	for (int i = 0; i < NR_CLOCKS; i++) {
		struct timespec deadline;

		deadline = deadline_in(clocks[i].id, 2 * NS_PER_MS);
		api_mutex_lock(&mutex);
		api_cond_clockwait(&cond, &mutex, clocks[i].id, &deadline);
		early |= !deadline_passed(clocks[i].id, &deadline);
		api_mutex_unlock(&mutex);
	}
	tap_ok(!early, "%s: not before the deadline", policy);
}

/* timedwait() of a condvar without attributes is on CLOCK_REALTIME. */
static void test_default_clock(const char *policy)
{
	struct timespec deadline = deadline_in(CLOCK_REALTIME, NS_PER_MS);
	int result;

	api_mutex_lock(&mutex);
	result = api_cond_timedwait(&cond, &mutex, &deadline);
	tap_ok(result == ETIMEDOUT &&
		       deadline_passed(CLOCK_REALTIME, &deadline),
	       "%s: the default clock is CLOCK_REALTIME", policy);
	api_mutex_unlock(&mutex);
}

static void *count_locks(void *nr)
{
	api_mutex_lock(&mutex);
	atomic_fetch_add((atomic_int *)nr, 1);
	api_mutex_unlock(&mutex);
	return NULL;
}

/* Another thread queues for the mutex; a bad call must not let it in. */
static void test_invalid(const char *policy)
{
	const struct timespec below = { .tv_nsec = -1 };
	const struct timespec above = { .tv_nsec = NS_PER_S };
	const struct timespec good = { .tv_nsec = 1 };
	atomic_int nr_locks = 0;
	pthread_t other;
	bool ok;

	api_mutex_lock(&mutex);
	start_thread(&other, count_locks, &nr_locks);
	ok = api_cond_timedwait(&cond, &mutex, &below) == EINVAL &&
	     api_cond_timedwait(&cond, &mutex, &above) == EINVAL;
	tap_ok(ok, "%s: timedwait: bad tv_nsec: EINVAL", policy);
	ok = true;
	for (int i = 0; i < NR_CLOCKS; i++)
		ok = ok &&
		     api_cond_clockwait(&cond, &mutex, clocks[i].id, &below) ==
			     EINVAL &&
		     api_cond_clockwait(&cond, &mutex, clocks[i].id, &above) ==
			     EINVAL;
	tap_ok(ok, "%s: clockwait: bad tv_nsec: EINVAL", policy);
	ok = api_cond_clockwait(&cond, &mutex, CLOCK_PROCESS_CPUTIME_ID,
				&good) == EINVAL &&
	     api_cond_clockwait(&cond, &mutex, 4711, &good) == EINVAL;
	tap_ok(ok, "%s: clockwait: another clock: EINVAL", policy);
	tap_is(atomic_load(&nr_locks), 0, "%s: EINVAL leaves the mutex alone",
	       policy);
	api_mutex_unlock(&mutex);
	pthread_join(other, NULL);
}

/*
 * One waiter that is unblocked before its deadline and cannot have the mutex
 * until after it. Returns whether that could be brought about with @ns.
 */
static bool unblocked_then_late(const char *policy, bool broadcast, int64_t ns)
{
	const struct timespec deadline = deadline_in(CLOCK_MONOTONIC, ns);
	const struct member how = {
		.deadline = &deadline,
		.clock = CLOCK_MONOTONIC,
	};
	struct fixture fixture = fixture_of(&cond, &mutex, 1);
	struct member *member = fixture_start(&fixture, &how);
	bool in_time;

	member_has_joined(member);
	api_mutex_lock(&mutex);
	if (broadcast)
		api_cond_broadcast(&cond);
	else
		api_cond_signal(&cond);
	in_time = !deadline_passed(CLOCK_MONOTONIC, &deadline) &&
		  atomic_load(&member->turn) < 0;
	while (!deadline_passed(CLOCK_MONOTONIC, &deadline))
		sched_yield();
	/* The kernel ends its sleep now, wherever that is. */
	fixture_count(&fixture, AT_MUTEX);
	api_mutex_unlock(&mutex);
	fixture_gone(&fixture, 1);
	if (in_time)
		tap_is(member->result, 0, "%s: late for the mutex after %s: 0",
		       policy, broadcast ? "broadcast" : "signal");
	fixture_end(&fixture);
	return in_time;
}

static void test_unblocked_then_late(const char *policy, bool broadcast)
{
	int64_t ns = 20 * NS_PER_MS;

	while (!unblocked_then_late(policy, broadcast, ns)) {
		ns *= 2;
		if (ns > 20 * NS_PER_S)
			tap_bail("never unblocked in time");
	}
}

/* Its time is over; the next signal is for the one who still waits. */
static void test_takes_no_signal(const char *policy)
{
	const struct timespec past = deadline_in(CLOCK_MONOTONIC, 0);
	const struct member how = {
		.deadline = &past,
		.clock = CLOCK_MONOTONIC,
	};
	struct fixture fixture = fixture_of(&cond, &mutex, 2);
	struct member *patient = fixture_wait(&fixture);
	struct member *late = fixture_start(&fixture, &how);

	fixture_gone(&fixture, 1);
	api_cond_signal(&cond);
	fixture_gone(&fixture, 2);
	tap_ok(late->result == ETIMEDOUT && patient->result == 0,
	       "%s: who has timed out takes no signal", policy);
	fixture_end(&fixture);
}

/*
 * A signal to three waiters, while the time of two runs out. The third, which
 * came last, sees to it that there is always one to take the signal.
 */
static int signal_race(void)
{
	int64_t ns = 150000 + random_below(&seed, 300000);
	const struct timespec deadline = deadline_in(CLOCK_MONOTONIC, ns);
	const struct member how = {
		.deadline = &deadline,
		.clock = CLOCK_MONOTONIC,
	};
	struct fixture fixture = fixture_of(&cond, &mutex, 3);
	int nr_signalled;

	fixture_start(&fixture, &how);
	fixture_start(&fixture, &how);
	fixture_wait(&fixture);
	while (!deadline_passed(CLOCK_MONOTONIC, &deadline))
		sched_yield();
	api_cond_signal(&cond);
	fixture_gone(&fixture, 2);
	if (!fixture_results(&fixture, 0))
		fixture_gone(&fixture, 3);
	nr_signalled = fixture_results(&fixture, 0);
	api_cond_broadcast(&cond);
	fixture_end(&fixture);
	return nr_signalled;
}

static void test_signal_race(const char *policy)
{
	int nr_wrong = 0;

	for (int i = 0; i < nr_rounds; i++)
		nr_wrong += signal_race() != 1;
	tap_is(nr_wrong, 0, "%s: signal against timeout: one returns 0, always",
	       policy);
}

static void test(const char *policy)
{
	watchdog("timed waits");
	test_deadlines(policy);
	test_not_early(policy);
	test_default_clock(policy);
	test_invalid(policy);
	test_unblocked_then_late(policy, true);
	test_unblocked_then_late(policy, false);
	test_takes_no_signal(policy);
	watchdog("signals against timeouts");
	tap_diag("seed=%" PRIu64, seed);
	test_signal_race(policy);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "seed rounds");

	api_start(argv);
	seed = args_get(&args, "seed", args_fresh_seed());
	nr_rounds = args_get(&args, "rounds", 300);
	return policy_main(argv, 16, test);
}
