// SPDX-License-Identifier: GPL-2.0-only
/*
 * Errors of the mutex that come out of a wait: EPERM when the caller does not
 * hold it, EOWNERDEAD and ENOTRECOVERABLE when its holder has died. None loses
 * a waiter.
 */
#include "fixture.h"
#include "blocked.h"
#include "run.h"
#include "tap.h"

#define NR_WAITERS 3

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t mutex;

static void make_mutex(int type, int robust, int protocol)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutexattr_setrobust(&attr, robust);
	pthread_mutexattr_setprotocol(&attr, protocol);
	if (pthread_mutex_init(&mutex, &attr))
		tap_bail("pthread_mutex_init");
	pthread_mutexattr_destroy(&attr);
}

/* Waits without the mutex, among waiters who had it. */
static void test_not_held(const char *policy, const char *kind)
{
	struct timespec past = deadline_in(CLOCK_REALTIME, -1);
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);
	bool ok;

	fixture_add(&fixture, NR_WAITERS);
	ok = pthread_cond_wait(&cond, &mutex) == EPERM &&
	     pthread_cond_timedwait(&cond, &mutex, &past) == EPERM;
	tap_ok(ok, "%s: %s, not held: EPERM", policy, kind);
	tap_is(fixture_count(&fixture, AT_COND), NR_WAITERS,
	       "%s: %s, not held: others wait on", policy, kind);
	pthread_cond_signal(&cond);
	fixture_gone(&fixture, 1);
	pthread_cond_wait(&cond, &mutex);
	pthread_cond_broadcast(&cond);
	fixture_gone(&fixture, NR_WAITERS);
	tap_is(fixture_results(&fixture, 0), NR_WAITERS,
	       "%s: %s, not held: no waiter is lost", policy, kind);
	fixture_end(&fixture);
}

/* The holder signals or broadcasts, and ends without unlocking. */
static void *die_after_signal(void *arg)
{
	pthread_mutex_lock(&mutex);
	pthread_cond_signal(&cond);
	return arg;
}

static void *die_after_broadcast(void *arg)
{
	pthread_mutex_lock(&mutex);
	pthread_cond_broadcast(&cond);
	return arg;
}

static void run_to_its_end(void *(*run)(void *))
{
	pthread_t thread;

	start_thread(&thread, run, NULL);
	pthread_join(thread, NULL);
}

/*
 * The unlock without making it consistent spoils the mutex. Two waiters: of
 * three, glibc's own lock of a spoilt mutex may leave the last one asleep.
 */
static void test_unrecoverable(const char *policy, const char *kind)
{
	struct fixture fixture = fixture_of(&cond, &mutex, 2);

	fixture_add(&fixture, 2);
	run_to_its_end(die_after_broadcast);
	fixture_gone(&fixture, 2);
	tap_is(fixture_results(&fixture, EOWNERDEAD), 1,
	       "%s: %s, holder died: one gets EOWNERDEAD", policy, kind);
	tap_is(fixture_results(&fixture, ENOTRECOVERABLE), 1,
	       "%s: %s, given up: the other ENOTRECOVERABLE", policy, kind);
	fixture_end(&fixture);
}

static void repair(struct member *member)
{
	if (member->result == EOWNERDEAD)
		pthread_mutex_consistent(&mutex);
}

static void test_repaired(const char *policy, const char *kind)
{
	const struct member how = { .then = repair };
	struct fixture fixture = fixture_of(&cond, &mutex, 2);

	member_asleep(fixture_start(&fixture, &how));
	run_to_its_end(die_after_signal);
	fixture_gone(&fixture, 1);
	tap_is(fixture.members[0].result, EOWNERDEAD,
	       "%s: %s, holder died after a signal: EOWNERDEAD", policy, kind);
	fixture_wait(&fixture);
	pthread_mutex_lock(&mutex);
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&mutex);
	fixture_gone(&fixture, 2);
	tap_is(fixture.members[1].result, 0,
	       "%s: %s, repaired: works as before", policy, kind);
	fixture_end(&fixture);
}

static void test(const char *policy)
{
	const int none = PTHREAD_PRIO_NONE, inherit = PTHREAD_PRIO_INHERIT;
	const int robust = PTHREAD_MUTEX_ROBUST;

	watchdog("waits without the mutex");
	make_mutex(PTHREAD_MUTEX_ERRORCHECK, 0, none);
	test_not_held(policy, "errorcheck");
	make_mutex(PTHREAD_MUTEX_RECURSIVE, 0, none);
	test_not_held(policy, "recursive");
	make_mutex(PTHREAD_MUTEX_NORMAL, robust, none);
	test_not_held(policy, "robust");
	make_mutex(PTHREAD_MUTEX_ERRORCHECK, 0, inherit);
	test_not_held(policy, "PI, errorcheck");

	watchdog("robust mutexes");
	make_mutex(PTHREAD_MUTEX_NORMAL, robust, none);
	test_repaired(policy, "robust");
	test_unrecoverable(policy, "robust");
	make_mutex(PTHREAD_MUTEX_NORMAL, robust, inherit);
	test_repaired(policy, "robust PI");
	test_unrecoverable(policy, "robust PI");
}

int main(int argc, char **argv)
{
	(void)argc;
	drop_in_load(argv);
	return policy_main(argv, 4 * 3 + 2 * 4, test);
}
