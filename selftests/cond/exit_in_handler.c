// SPDX-License-Identifier: GPL-2.0-only
/*
 * A signal handler ends the thread while it waits. Its clean-up handlers run with
 * the mutex held, as after a cancellation, and no waiter is left behind that
 * takes a later signal. One that has woken it goes to another waiter.
 *
 * APIs: drover pthread
 */
#include <sched.h>

#include "fixture.h"
#include "run.h"
#include "tap.h"

#define ROUNDS 3
#define TRIES  100

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_CHECKED_INITIALIZER;

/* The thread that ends. */
static struct {
	pthread_t thread;
	atomic_int tid;
	atomic_bool had_mutex;
	bool returned; /* at least once */
} victim;

static atomic_bool may_exit = true;
static atomic_int nr_in_handler;

static void end_thread(int signal)
{
	(void)signal;
	atomic_fetch_add(&nr_in_handler, 1);
	while (!atomic_load(&may_exit))
		sched_yield();
	pthread_exit(NULL);
}

static void clean_up(void *arg)
{
	(void)arg;
	atomic_store(&victim.had_mutex, api_mutex_unlock(&mutex) == 0);
}

static void *wait_for_end(void *arg)
{
	(void)arg;
	api_mutex_lock(&mutex);
	pthread_cleanup_push(clean_up, NULL);
	atomic_store(&victim.tid, blocked_gettid());
	for (;;) {
		api_cond_wait(&cond, &mutex);
		victim.returned = true;
	}
	pthread_cleanup_pop(0);
	return NULL;
}

/* It sleeps when this returns. */
static void victim_start(void)
{
	atomic_store(&victim.tid, 0);
	atomic_store(&victim.had_mutex, false);
	victim.returned = false;
	atomic_store(&nr_in_handler, 0);
	if (pthread_create(&victim.thread, NULL, wait_for_end, NULL) ||
	    wait_at_least(&victim.tid, 1) ||
	    place_settled(getpid(), atomic_load(&victim.tid), &mutex))
		tap_bail("the thread does not wait");
}

static void victim_in_handler(void)
{
	pthread_kill(victim.thread, SIGUSR1);
	if (wait_at_least(&nr_in_handler, 1))
		tap_bail("no signal is handled");
}

static void victim_end(const char *when)
{
	atomic_store(&may_exit, true);
	pthread_join(victim.thread, NULL);
	tap_ok(atomic_load(&victim.had_mutex),
	       "%s: the clean-up handler has the mutex", when);
}

/* One waiter after another; who takes a signal that is not its own shows. */
static void test_signals_after(const char *when)
{
	struct fixture fixture = fixture_of(&cond, &mutex, ROUNDS);
	bool exact = true;

	for (int i = 1; i <= ROUNDS && exact; i++) {
		fixture_wait(&fixture);
		api_cond_signal(&cond);
		exact = fixture_count(&fixture, RETURNED) == i;
	}
	tap_ok(exact, "%s: each signal after it returns a waiter", when);
	api_cond_broadcast(&cond);
	fixture_end(&fixture);
}

static void test_asleep(void)
{
	const char *when = "asleep";

	watchdog(when);
	victim_start();
	victim_in_handler();
	victim_end(when);
	test_signals_after(when);
}

/* Two signals for two waiters, or one. */
static void test_signalled(int nr)
{
	struct fixture fixture = fixture_of(&cond, &mutex, 1);
	const char *when = nr == 1 ? "signalled with another" :
				     "both signalled";

	watchdog(when);
	atomic_store(&may_exit, false);
	victim_start();
	fixture_wait(&fixture);
	victim_in_handler();
	for (int i = 0; i < nr; i++)
		api_cond_signal(&cond);
	victim_end(when);
	tap_is(fixture_count(&fixture, RETURNED), 1, "%s: which returns", when);
	fixture_end(&fixture);
	test_signals_after(when);
}

/* The mutex to which both may have been moved is free only later. */
static void test_moved(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, 1);
	const char *when = "at the mutex";

	if (variant_is("none")) {
		tap_skip_all(3, when, "this kernel has no requeue");
		return;
	}
	watchdog(when);
	victim_start();
	fixture_wait(&fixture);
	api_mutex_lock(&mutex);
	api_cond_broadcast(&cond);
	victim_in_handler();
	api_mutex_unlock(&mutex);
	victim_end(when);
	tap_is(fixture_count(&fixture, RETURNED), 1, "%s: the other returns",
	       when);
	fixture_end(&fixture);
	test_signals_after(when);
}

/*
 * The signal has woken the victim, and it ends before it has seen that. On one
 * CPU it does not run before that, as long as it does not preempt who wakes it.
 */
static bool ends_woken(bool *other_returns)
{
	struct fixture fixture = fixture_of(&cond, &mutex, 2);
	struct sched_param param = { 0 };
	bool ended;

	victim_start();
	pthread_setschedparam(victim.thread, SCHED_BATCH, &param);
	fixture_add(&fixture, 2);
	api_cond_signal(&cond);
	pthread_kill(victim.thread, SIGUSR1);
	pthread_join(victim.thread, NULL);
	ended = !victim.returned;
	*other_returns = fixture_count(&fixture, RETURNED) == 1;
	api_cond_broadcast(&cond);
	fixture_end(&fixture);
	return ended;
}

static void test_woken(void)
{
	cpu_set_t before, one;
	bool ended = false, other_returns = false;

	watchdog("woken");
	sched_getaffinity(0, sizeof(before), &before);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (int i = 0; i < TRIES && !ended; i++)
		ended = ends_woken(&other_returns);
	sched_setaffinity(0, sizeof(before), &before);
	if (ended)
		tap_ok(other_returns, "woken: another has the signal");
	else
		tap_skip("woken", "it always came first");
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = end_thread };

	(void)argc;
	api_start(argv);
	if (!HANDLERS_ARE_PROMPT)
		return handlers_are_late();
	if (!FRAMES_MAY_UNWIND)
		return frames_stay();
	sigaction(SIGUSR1, &action, NULL);
	tap_plan(12);
	test_asleep();
	test_signalled(1);
	test_signalled(2);
	test_moved();
	test_woken();
	return tap_exit();
}
