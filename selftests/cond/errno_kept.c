// SPDX-License-Identifier: GPL-2.0-only
/*
 * No function touches errno, whatever it returns and whatever the system calls
 * in it have said.
 *
 * APIs: drover pthread
 */
#include <pthread.h>

#include "api.h"
#include "blocked.h"

#define OURS 4711

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_CHECKED_INITIALIZER;
static bool go;
static atomic_int waiter_tid;

static void kept(const char *what, int err, int expected)
{
	tap_ok(err == expected && errno == OURS, "%s: %d, errno %d", what, err,
	       errno);
	errno = OURS;
}

static void *waiter(void *arg)
{
	atomic_store(&waiter_tid, blocked_gettid());
	errno = OURS;
	api_mutex_lock(&mutex);
	while (!go)
		api_cond_wait(&cond, &mutex);
	api_mutex_unlock(&mutex);
	*(int *)arg = errno;
	return NULL;
}

/* A mutex that another thread has; a wait that sleeps, and is moved. */
static void test_both_sides(void)
{
	const struct timespec soon = deadline_in(CLOCK_MONOTONIC, NS_PER_MS);
	const struct timespec later = deadline_in(CLOCK_MONOTONIC, NS_PER_S);
	int errno_there = 0, err;
	pthread_t thread;

	errno = OURS;
	api_mutex_lock(&mutex);
	kept("a wait that times out",
	     api_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &soon),
	     ETIMEDOUT);
	api_mutex_unlock(&mutex);

	if (pthread_create(&thread, NULL, waiter, &errno_there))
		tap_bail("no thread");
	if (wait_at_least(&waiter_tid, 1) ||
	    wait_blocked(getpid(), atomic_load(&waiter_tid), NULL))
		tap_bail("the waiter does not sleep");
	errno = OURS;
	api_mutex_lock(&mutex);
	go = true;
	kept("a broadcast", api_cond_broadcast(&cond), 0);
	kept("unlock", api_mutex_unlock(&mutex), 0);
	pthread_join(thread, NULL);
	tap_is(errno_there, OURS, "a wait, wherever it slept");
	errno = OURS;
	err = api_mutex_timedlock(&mutex, CLOCK_MONOTONIC, &later);
	kept("a lock with a deadline", err, 0);
	kept("unlock", api_mutex_unlock(&mutex), 0);
}

int main(int argc, char **argv)
{
	api_start(argv);
	tap_plan(10);
	watchdog("errno");
	errno = OURS;
	kept("a wait without the mutex", api_cond_wait(&cond, &mutex), EPERM);
	kept("a signal to nobody", api_cond_signal(&cond), 0);
	kept("unlock without the mutex", api_mutex_unlock(&mutex), EPERM);
	test_both_sides();
	kept("destroy", api_cond_destroy(&cond), 0);
	return tap_exit();
}
