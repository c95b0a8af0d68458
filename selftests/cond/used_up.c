// SPDX-License-Identifier: GPL-2.0-only
/*
 * A group whose last member has timed out is free, though the condvar still
 * names it as its closed group: the next thread that begins a group may get
 * this one. It must not be the closed and the open group at once. If it were,
 * an arrival would join the group to which signals go, and would take the
 * signal of a thread that waited before it.
 *
 * The policy is requeue: the signalled thread stays asleep on the mutex, and
 * has not taken its signal when the arrival comes.
 */
#include "blocked.h"
#include "api.h"
#include "run.h"

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;
static atomic_int first_tid, timed_tid, last_tid;
static atomic_int nr_back;
static atomic_bool again;

static void wait_once(atomic_int *tid, const struct timespec *deadline)
{
	api_mutex_lock(&mutex);
	*tid = blocked_gettid();
	if (deadline)
		api_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, deadline);
	else
		api_cond_wait(&cond, &mutex);
	api_mutex_unlock(&mutex);
	nr_back++;
}

/* Begins the group, is signalled, and later gets the same group. */
static void *waits_twice(void *arg)
{
	wait_once(&first_tid, NULL);
	wait_until(again, "the main thread never says when");
	wait_once(&first_tid, NULL);
	return arg;
}

/* The last member of the group, which times out. */
static void *waits_in_vain(void *arg)
{
	struct timespec soon = deadline_in(CLOCK_MONOTONIC, 200 * NS_PER_MS);

	wait_once(&timed_tid, &soon);
	wait_until(again, "the main thread never says when");
	return arg;
}

static void *waits(void *arg)
{
	wait_once(&last_tid, NULL);
	return arg;
}

static void test(const char *policy)
{
	pthread_t threads[3];
	int err;

	watchdog("used up");
	tap_plan(2);
	threads[0] = thread_of(waits_twice, NULL);
	asleep_on(&first_tid, NULL);
	threads[1] = thread_of(waits_in_vain, NULL);
	asleep_on(&timed_tid, NULL);
	api_cond_signal(&cond);
	reached(&nr_back, 2);
	first_tid = 0;
	again = true;
	asleep_on(&first_tid, NULL);
	threads[2] = thread_of(waits, NULL);
	asleep_on(&last_tid, NULL);

	api_mutex_lock(&mutex);
	api_cond_signal(&cond);
	err = api_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC,
				 &(struct timespec){ 0, 0 });
	api_mutex_unlock(&mutex);
	tap_is(err, ETIMEDOUT, "an arrival takes no signal sent before it");
	reached(&nr_back, 3);
	api_cond_broadcast(&cond);
	for (int i = 0; i < NR_OF(threads); i++)
		joined(threads[i]);
	tap_is(nr_back, 4, "all return, %s", policy);
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "requeue" };

	(void)argc;
	return policies_main(argv, names, NR_OF(names), test);
}
