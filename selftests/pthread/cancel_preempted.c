// SPDX-License-Identifier: GPL-2.0-only
/*
 * A wait, or a signal to it, stopped after each of its instructions in turn
 * while the waiting thread is cancelled: it is cancelled or takes the signal,
 * never both, and never neither.
 */
#include "run.h"
#include "fixture.h"
#include "preempt.h"
#include "tap.h"

static pthread_cond_t cond;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct fixture fixture;

/* The one who is cancelled; under the mutex. */
static struct {
	bool waiting;	/* has the mutex and goes to wait */
	bool returned;	/* from the wait */
	bool unblocked; /* waited at the time of the broadcast */
} victim;

static void one_waits(void)
{
	memset(&victim, 0, sizeof(victim));
	fixture = fixture_of(&cond, &mutex, 1);
	fixture_wait(&fixture);
}

static void unlock(void *arg)
{
	(void)arg;
	preempt_trap_end();
	pthread_mutex_unlock(&mutex);
}

static void wait_cancellable(void *arg)
{
	int ignored;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, arg);
	victim.waiting = true;
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored);
	pthread_cond_wait(&cond, &mutex);
	victim.returned = true;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	pthread_cleanup_pop(1);
}

/* Who waits now has to return 0: it is cancelled too late. */
static void broadcast_and_cancel(void)
{
	pthread_mutex_lock(&mutex);
	victim.unblocked = victim.waiting && !victim.returned;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
	pthread_cancel(caller.thread);
}

static bool unblocked_returns(void)
{
	fixture_gone(&fixture, 1);
	fixture_end(&fixture);
	return victim.returned || !victim.unblocked;
}

static void cancel_and_signal(void)
{
	pthread_cancel(caller.thread);
	pthread_cond_signal(&cond);
}

/* One of two returns for the signal. */
static bool one_returns(void)
{
	bool ok;

	if (!victim.returned)
		fixture_gone(&fixture, 1);
	ok = fixture_count(&fixture, RETURNED) == !victim.returned;
	pthread_cond_broadcast(&cond);
	fixture_end(&fixture);
	return ok;
}

/* The other way round: the signal is stopped, and a waiter cancelled. */
static pthread_t apart;
static atomic_int apart_tid;

static void *wait_apart(void *arg)
{
	atomic_store(&apart_tid, blocked_gettid());
	wait_cancellable(arg);
	return arg;
}

static void two_wait(void)
{
	one_waits();
	atomic_store(&apart_tid, 0);
	if (pthread_create(&apart, NULL, wait_apart, NULL) ||
	    wait_at_least(&apart_tid, 1) ||
	    place_settled(getpid(), atomic_load(&apart_tid), &mutex))
		tap_bail("the victim never slept");
}

static void signal_it(void *arg)
{
	(void)arg;
	pthread_cond_signal(&cond);
}

static void cancel_apart(void)
{
	pthread_cancel(apart);
}

static bool one_of_both_returns(void)
{
	pthread_join(apart, NULL);
	return one_returns();
}

static const struct scenario scenarios[] = {
	{ "wait, broadcast and then cancel: it returns", one_waits,
	  wait_cancellable, broadcast_and_cancel, unblocked_returns },
	{ "wait, cancel and then signal: one returns", one_waits,
	  wait_cancellable, cancel_and_signal, one_returns },
	{ "signal and cancel: one returns", two_wait, signal_it, cancel_apart,
	  one_of_both_returns },
};

#define NR_SCENARIOS ((int)(sizeof(scenarios) / sizeof(scenarios[0])))

static void test(const char *policy)
{
	char label[64];

	for (int shared = 0; shared <= 1; shared++) {
		kind_cond_init(&cond, shared);
		snprintf(label, sizeof(label), "%s: %s", policy,
			 shared ? "shared" : "private");
		scenarios_test(label, scenarios, NR_SCENARIOS);
		pthread_cond_destroy(&cond);
	}
}

int main(int argc, char **argv)
{
	drop_in_load(argv);
	if (!FRAMES_MAY_UNWIND)
		return frames_stay();
	scenarios_start(argc, argv, 150);
	return policy_main(argv, 2 * NR_SCENARIOS, test);
}
