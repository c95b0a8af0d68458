// SPDX-License-Identifier: GPL-2.0-only
/*
 * A mutex in a process with one thread, where it need not be locked in one step,
 * and what becomes of that when there is a second one.
 */
#include <drover/mutex.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "run.h"
#include "blocked.h"
#include "tap.h"

static drover_mutex_t mutex = DROVER_MUTEX_INITIALIZER;
static atomic_int second;
static int tried, locked;

static void *second_main(void *arg)
{
	(void)arg;
	tried = drover_mutex_trylock(&mutex);
	atomic_store(&second, blocked_gettid());
	locked = drover_mutex_lock(&mutex);
	drover_mutex_unlock(&mutex);
	return NULL;
}

/* It locks what was locked while there was nobody else, and sleeps for it. */
static void test_second(void)
{
	pthread_t thread;

	watchdog("a second thread");
	drover_mutex_lock(&mutex);
	if (pthread_create(&thread, NULL, second_main, NULL) ||
	    wait_at_least(&second, 1))
		tap_bail("no thread");
	tap_is(tried, EBUSY, "a second thread finds it held");
	tap_is(wait_blocked(getpid(), second, &mutex), 0, "and sleeps");
	tap_is(drover_mutex_unlock(&mutex), 0, "until it is unlocked");
	pthread_join(thread, NULL);
	tap_is(locked, 0, "and has it then");
}

static void test_alone(const char *when)
{
	tap_is(drover_mutex_lock(&mutex), 0, "%s: lock", when);
	tap_is(drover_mutex_trylock(&mutex), EBUSY, "%s: is held", when);
	tap_is(drover_mutex_unlock(&mutex), 0, "%s: unlock", when);
	tap_is(drover_mutex_unlock(&mutex), EPERM, "%s: is not held", when);
	tap_is(drover_mutex_trylock(&mutex), 0, "%s: is free", when);
	tap_is(drover_mutex_unlock(&mutex), 0, "%s: unlock again", when);
}

int main(int argc, char **argv)
{
	args_parse(argc, argv, "");
	tap_plan(16);
	test_alone("one thread");
	test_second();
	test_alone("one thread again");
	return tap_exit();
}
