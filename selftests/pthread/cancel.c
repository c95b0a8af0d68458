// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cancellation of waiting threads: before they are unblocked it acts, with the
 * mutex held, and takes no signal; afterwards the wait returns 0 and the
 * cancellation stays pending.
 */
#include "fixture.h"
#include "blocked.h"
#include "run.h"
#include "tap.h"

#define NR_RESULTS 18

static pthread_cond_t cond;
static pthread_mutex_t mutex;
static char label[64];

/* A thread that waits, to be cancelled. */
struct victim {
	pthread_t thread;
	atomic_int tid;
	int state;
	int type;
	bool timed;
	bool self; /* cancels itself before it waits */

	atomic_bool waiting;
	atomic_int result; /* of the wait; -1 if it did not return */
	bool pending;	   /* the cancellation acted after it had returned */
	bool had_mutex;	   /* when it was cancelled */
	int type_after;
	void *end;
};

/* An error-checking mutex knows whether we hold it. */
static void cleanup(void *arg)
{
	struct victim *victim = arg;

	victim->had_mutex = pthread_mutex_unlock(&mutex) == 0;
}

static int victim_wait(struct victim *victim)
{
	struct timespec far = deadline_in(CLOCK_MONOTONIC, 1000 * NS_PER_S);

	if (!victim->timed)
		return pthread_cond_wait(&cond, &mutex);
	return pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &far);
}

static void *victim_thread(void *arg)
{
	struct victim *victim = arg;
	int ignored;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	atomic_store(&victim->tid, blocked_gettid());
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(cleanup, victim);
	if (victim->self)
		pthread_cancel(pthread_self());
	atomic_store(&victim->waiting, true);
	pthread_setcanceltype(victim->type, &ignored);
	pthread_setcancelstate(victim->state, &ignored);
	atomic_store(&victim->result, victim_wait(victim));
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &victim->type_after);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored);
	victim->pending = true;
	pthread_testcancel();
	victim->pending = false;
	pthread_cleanup_pop(1);
	return NULL;
}

static void victim_start(struct victim *victim)
{
	atomic_init(&victim->result, -1);
	start_thread(&victim->thread, victim_thread, victim);
	while (!atomic_load(&victim->waiting))
		sched_yield();
}

static void victim_asleep(struct victim *victim)
{
	victim_start(victim);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	if (place_settled(getpid(), atomic_load(&victim->tid), &mutex))
		tap_bail("the victim never slept");
}

static void victim_join(struct victim *victim)
{
	pthread_join(victim->thread, &victim->end);
}

/* It was cancelled in its wait, with the mutex. */
static bool was_cancelled(struct victim *victim)
{
	victim_join(victim);
	return victim->end == PTHREAD_CANCELED && victim->had_mutex &&
	       atomic_load(&victim->result) == -1;
}

/* Its wait returned 0, and then the cancellation acted. */
static bool was_pending(struct victim *victim)
{
	victim_join(victim);
	return victim->end == PTHREAD_CANCELED && victim->had_mutex &&
	       atomic_load(&victim->result) == 0 && victim->pending;
}

/* A signal after it goes to the one who waits beside the victim. */
static void test_blocked(const char *how, int type, bool timed)
{
	struct victim victim = { .type = type, .timed = timed };
	struct fixture fixture = fixture_of(&cond, &mutex, 1);

	victim_asleep(&victim);
	fixture_wait(&fixture);
	pthread_cancel(victim.thread);
	tap_ok(was_cancelled(&victim), "%s: %s, blocked: acts, mutex held",
	       label, how);
	tap_is(fixture_count(&fixture, AT_COND), 1,
	       "%s: %s: nobody else returns", label, how);
	pthread_cond_signal(&cond);
	fixture_gone(&fixture, 1);
	tap_is(fixture_results(&fixture, 0), 1, "%s: %s: it took no signal",
	       label, how);
	fixture_end(&fixture);
}

/* Unblocked, but the mutex is taken when it is cancelled. */
static void test_unblocked(bool broadcast)
{
	struct victim victim = { 0 };
	struct fixture fixture = fixture_of(&cond, &mutex, 1);
	const char *by = broadcast ? "broadcast" : "signal";

	victim_asleep(&victim);
	if (broadcast)
		fixture_wait(&fixture);
	pthread_mutex_lock(&mutex);
	if (broadcast)
		pthread_cond_broadcast(&cond);
	else
		pthread_cond_signal(&cond);
	pthread_cancel(victim.thread);
	pthread_mutex_unlock(&mutex);
	tap_ok(was_pending(&victim), "%s: after a %s: returns 0, then acts",
	       label, by);
	fixture_end(&fixture);
}

/* Unblocked, but it has not noticed yet when it is cancelled. */
static void test_unnoticed(bool broadcast)
{
	struct victim victim = { 0 };

	victim_asleep(&victim);
	hold_off(victim.thread);
	if (broadcast)
		pthread_cond_broadcast(&cond);
	else
		pthread_cond_signal(&cond);
	pthread_cancel(victim.thread);
	hold_off_end(1);
	tap_ok(was_pending(&victim),
	       "%s: just after a %s: returns 0, then acts", label,
	       broadcast ? "broadcast" : "signal");
}

static void test_disabled(void)
{
	struct victim victim = { .state = PTHREAD_CANCEL_DISABLE };

	victim_asleep(&victim);
	pthread_cancel(victim.thread);
	if (place_settled(getpid(), atomic_load(&victim.tid), &mutex))
		tap_bail("the victim is gone");
	tap_is(atomic_load(&victim.result), -1, "%s: disabled: stays blocked",
	       label);
	pthread_cond_signal(&cond);
	tap_ok(was_pending(&victim), "%s: disabled: acts when enabled", label);
}

/* Pending when it begins to wait: it is no waiter then. */
static void test_before(void)
{
	struct victim victim = { .self = true };
	struct fixture fixture = fixture_of(&cond, &mutex, 1);

	fixture_wait(&fixture);
	victim_start(&victim);
	tap_ok(was_cancelled(&victim), "%s: pending before: acts, mutex held",
	       label);
	pthread_cond_signal(&cond);
	fixture_gone(&fixture, 1);
	fixture_end(&fixture);
}

/* Of two held off, one is cancelled after the signal: it or the other. */
static void test_with_signal(void)
{
	struct victim victim = { 0 };
	struct fixture fixture = fixture_of(&cond, &mutex, 1);
	bool cancelled;

	victim_asleep(&victim);
	fixture_wait(&fixture);
	hold_off(victim.thread);
	hold_off(fixture.members[0].thread);
	pthread_cond_signal(&cond);
	pthread_cancel(victim.thread);
	hold_off_end(2);
	victim_join(&victim);
	cancelled = atomic_load(&victim.result) == -1;
	if (cancelled)
		fixture_gone(&fixture, 1);
	tap_is(fixture_count(&fixture, RETURNED), cancelled,
	       "%s: with a signal: it or another takes that", label);
	pthread_cond_broadcast(&cond);
	fixture_end(&fixture);
}

/* What the library makes of the type is for the wait only. */
static void test_type_kept(void)
{
	struct victim victim = {
		.state = PTHREAD_CANCEL_DISABLE,
		.type = PTHREAD_CANCEL_ASYNCHRONOUS,
	};

	victim_asleep(&victim);
	pthread_cond_signal(&cond);
	victim_join(&victim);
	tap_is(victim.type_after, PTHREAD_CANCEL_ASYNCHRONOUS,
	       "%s: the type is what it was", label);
}

static void test_cond(const char *policy, int pshared)
{
	const int deferred = PTHREAD_CANCEL_DEFERRED;

	snprintf(label, sizeof(label), "%s: %s", policy,
		 pshared ? "shared" : "private");
	watchdog(label);
	kind_cond_init(&cond, pshared);
	test_blocked("deferred", deferred, false);
	test_blocked("deferred, timed", deferred, true);
	test_blocked("asynchronous", PTHREAD_CANCEL_ASYNCHRONOUS, false);
	test_unblocked(false);
	test_unblocked(true);
	test_disabled();
	test_before();
	if (HANDLERS_ARE_PROMPT) {
		test_unnoticed(false);
		test_unnoticed(true);
		test_with_signal();
	} else {
		for (int i = 0; i < 3; i++)
			tap_skip(label, "ThreadSanitizer delays handlers");
	}
	test_type_kept();
	pthread_cond_destroy(&cond);
}

static void test(const char *policy)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	test_cond(policy, PTHREAD_PROCESS_PRIVATE);
	test_cond(policy, PTHREAD_PROCESS_SHARED);
}

int main(int argc, char **argv)
{
	(void)argc;
	drop_in_load(argv);
	if (!FRAMES_MAY_UNWIND)
		return frames_stay();
	return policy_main(argv, 2 * NR_RESULTS, test);
}
