// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread whose time is over on one condvar goes on to wait on another: what
 * the library keeps for those who wait together is used again. Who comes to the
 * first condvar meanwhile does not wait with those of the second.
 *
 * APIs: drover pthread
 */
#include "fixture.h"
#include "blocked.h"
#include "tap.h"

static api_cond_t first = API_COND_INITIALIZER, second = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;
static int timed_out, returned;
static atomic_int tid, first_over;
static atomic_bool back;

static void *wait_on_both(void *arg)
{
	struct timespec past = deadline_in(CLOCK_MONOTONIC, 0);

	atomic_store(&tid, blocked_gettid());
	api_mutex_lock(&mutex);
	timed_out = api_cond_clockwait(&first, &mutex, CLOCK_MONOTONIC, &past);
	atomic_store(&first_over, 1);
	returned = api_cond_wait(&second, &mutex);
	api_mutex_unlock(&mutex);
	atomic_store(&back, true);
	return arg;
}

int main(int argc, char **argv)
{
	struct fixture fixture = fixture_of(&first, &mutex, 1);
	pthread_t thread;

	(void)argc;
	api_start(argv);
	tap_plan(4);
	watchdog("two condvars");
	if (pthread_create(&thread, NULL, wait_on_both, NULL) ||
	    wait_at_least(&first_over, 1) ||
	    place_settled(getpid(), atomic_load(&tid), &mutex))
		tap_bail("it never slept");
	tap_is(timed_out, ETIMEDOUT, "the first wait times out");
	fixture_add(&fixture, 1);
	api_cond_broadcast(&first);
	fixture_gone(&fixture, 1);
	tap_is(fixture_results(&fixture, 0), 1,
	       "who waits on the first returns");
	tap_ok(place_settled(getpid(), atomic_load(&tid), &mutex) == 0 &&
		       !atomic_load(&back),
	       "who waits on the second waits on");
	api_cond_broadcast(&second);
	pthread_join(thread, NULL);
	tap_is(returned, 0, "until that one is for it");
	fixture_end(&fixture);
	return tap_exit();
}
