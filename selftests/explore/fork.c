// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scenarios of forks. Wherever the other threads are in their calls, the child
 * has to find a condvar without waiters, and locks that are free.
 */
#include <errno.h>
#include <pthread.h>

#include "base/fork.h"
#include "waits.h"

/* The child's threads wait until child_may_return is set. [child_mutex] */
static drover_mutex_t child_mutex;
static int child_may_return;

static void *wait_in_child(void *arg)
{
	expect(!drover_mutex_lock(&child_mutex));
	while (!child_may_return)
		expect(!drover_cond_wait(&cond, &child_mutex));
	expect(!drover_mutex_unlock(&child_mutex));
	return arg;
}

/* A stale waiter would take one of these signals. */
static void signal_in_child(int nr)
{
	pthread_t waiters[2];

	for (int i = 0; i < nr; i++)
		expect(!pthread_create(&waiters[i], NULL, wait_in_child, NULL));
	expect(!drover_mutex_lock(&child_mutex));
	child_may_return = 1;
	expect(!drover_mutex_unlock(&child_mutex));
	for (int i = 0; i < nr; i++)
		drover_cond_signal(&cond);
	for (int i = 0; i < nr; i++)
		pthread_join(waiters[i], NULL);
	drover_cond_destroy(&cond);
}

static void wait_and_forget(bool timed)
{
	struct timespec at = in_a_while();

	expect(!drover_mutex_lock(&mutex));
	if (timed)
		drover_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &at);
	else
		drover_cond_wait(&cond, &mutex);
	expect(!drover_mutex_unlock(&mutex));
}

static void fork_beside_waiters(int me)
{
	if (me < 2) {
		wait_and_forget(false);
	} else {
		drover_cond_signal(&cond);
		fork_here(&wiped, sizeof(wiped));
		signal_in_child(2);
	}
}

static void fork_beside_all(int me)
{
	if (me == 0) {
		wait_and_forget(true);
	} else if (me == 1) {
		drover_cond_signal(&cond);
		drover_cond_broadcast(&cond);
	} else {
		fork_here(&wiped, sizeof(wiped));
		signal_in_child(2);
	}
}

/*
 * The child signals, and forks in turn. In its own child, no stale waiter may
 * take the signal.
 */
static void fork_twice(int me)
{
	if (me < 2) {
		wait_and_forget(me == 0);
	} else {
		fork_here(&wiped, sizeof(wiped));
		drover_cond_signal(&cond);
		fork_here(&wiped, sizeof(wiped));
		signal_in_child(1);
	}
}

static void setup_fork(void)
{
	setup_plain();
	drover_mutex_init(&child_mutex, NULL);
}

#define FORKS "auto,spin=0 auto auto,1cpu"

const struct scenario fork_scenarios[] = {
	{ "fork-waiters", 3, 2, 0, FORKS, setup_fork, fork_beside_waiters,
	  NULL },
	{ "fork-busy", 3, 2, EXPIRES, FORKS, setup_fork, fork_beside_all,
	  NULL },
	{ "fork-twice", 3, 1, EXPIRES, FORKS, setup_fork, fork_twice, NULL },
};
const int nr_fork_scenarios = sizeof(fork_scenarios) / sizeof(*fork_scenarios);
