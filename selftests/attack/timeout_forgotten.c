// SPDX-License-Identifier: GPL-2.0-only
/*
 * A waiter's time runs out while a signaller has claimed its group, and the
 * signal is for another waiter: it must still time out. It once slept until the
 * claim was over, but the signal woke only the other one.
 *
 * The claim is held open by mutex operations of the test's own: the signaller
 * asks them who has the mutex. So this calls the library's inside.
 */
#include <pthread.h>

#include "cond_internal.h"
#include "deadline.h"
#include "fake_futex.h"
#include "tap.h"
#include "watchdog.h"

static struct cond cond;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static futex_word word;

/* A thread that waits once. */
struct once {
	pthread_t thread;
	struct deadline deadline;
	bool timed;
	atomic_int tid;	   /* set with the mutex held */
	atomic_int result; /* RUNNING: none yet */
};

#define RUNNING (-1)

static struct once patient, late;
static struct group *group;
static bool held_up; /* the late one's time was over during the claim */

static int ops_may_wait(void *m)
{
	(void)m;
	return 0;
}

static int ops_unlock(void *m)
{
	return pthread_mutex_unlock(m);
}

static int ops_lock(void *m, bool moved)
{
	(void)moved;
	return pthread_mutex_lock(m);
}

static futex_word *ops_word(void *m)
{
	(void)m;
	return &word;
}

/* In the claim: until the late one's time is over and it sleeps once more. */
static enum mutex_holder ops_holder(void *m)
{
	struct timespec *at = &late.deadline.at;

	(void)m;
	while (!deadline_passed(CLOCK_MONOTONIC, at))
		sched_yield();
	while (late.result == RUNNING && !held_up) {
		held_up = load_relaxed(&group->state) & GROUP_AWAITED &&
			  blocked_in_futex(getpid(), late.tid, NULL) == 1;
		sched_yield();
	}
	return MUTEX_FREE;
}

static bool ops_interruptible(void)
{
	return false;
}

static futex_word *ops_pi_word(void *m)
{
	(void)m;
	return NULL;
}

static const struct mutex_ops ops = {
	.may_wait = ops_may_wait,
	.unlock = ops_unlock,
	.lock = ops_lock,
	.word = ops_word,
	.holder = ops_holder,
	.interruptible = ops_interruptible,
	.pi_word = ops_pi_word,
};

static void *wait_once(void *arg)
{
	struct once *once = arg;
	int result;

	pthread_mutex_lock(&mutex);
	atomic_store(&once->tid, blocked_gettid());
	result = cond_wait(&cond, &ops, &mutex,
			   once->timed ? &once->deadline : NULL);
	atomic_store(&once->result, result);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void start(struct once *once)
{
	atomic_store(&once->tid, 0);
	atomic_store(&once->result, RUNNING);
	if (pthread_create(&once->thread, NULL, wait_once, once) ||
	    wait_at_least(&once->tid, 1))
		tap_bail("pthread_create");
	/* It has joined once it has released the mutex. */
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

/*
 * Returns whether the timeout met the claim and the other one was quicker to
 * get the signal, which both may have; @ns: until the timeout.
 */
static bool timeout_in_claim(int64_t ns)
{
	held_up = false;
	cond_init(&cond, 0);
	start(&patient);
	if (wait_blocked(getpid(), patient.tid, NULL))
		tap_bail("the patient one does not sleep");
	group = load_relaxed(&cond.open);
	late.timed = true;
	late.deadline.clock = CLOCK_MONOTONIC;
	late.deadline.at = deadline_in(CLOCK_MONOTONIC, ns);
	start(&late);
	cond_signal(&cond, &ops);
	pthread_join(late.thread, NULL);
	if (late.result == 0)
		cond_broadcast(&cond, &ops);
	pthread_join(patient.thread, NULL);
	return held_up && late.result != 0;
}

int main(int argc, char **argv)
{
	int64_t ns = 50 * NS_PER_MS;

	args_parse(argc, argv, "");
	tap_plan(2);
	fake_futex_start((struct fake_futex){ 0 });
	watchdog("a timeout during a claim");
	while (!timeout_in_claim(ns))
		if (!held_up)
			ns *= 2;
	tap_is(patient.result, 0, "who waited first got the signal");
	tap_is(late.result, ETIMEDOUT, "the other one timed out");
	return tap_exit();
}
