// SPDX-License-Identifier: GPL-2.0-only
/*
 * A waiter's time runs out while a signaller has claimed its group, and the
 * signal is for another waiter: it must still time out. It once slept until the
 * claim was over, but the signal woke only the other one. While it waits for the
 * end of the claim, the signaller has its priority.
 *
 * The claim is held open by mutex operations of the test's own: the signaller
 * asks them who has the mutex. So this calls the library's inside.
 */
#include <pthread.h>

#include "cond/cond.h"
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

#define RUNNING	 (-1)
#define PRIORITY 7

static struct once patient, late;
static struct group *group;
static bool held_up; /* the late one's time was over during the claim */
static bool rushed;  /* and the signaller had its priority then */
static bool real_time;

static int ops_may_wait(void *m)
{
	(void)m;
	return 0;
}

static bool ops_stays_held(void *m)
{
	(void)m;
	return false;
}

static int ops_unlock(void *m)
{
	return pthread_mutex_unlock(m);
}

static bool ops_try_lock(void *m)
{
	return pthread_mutex_trylock(m) == 0;
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

/*
 * The real-time priority that the kernel gives the caller now, or 0: that is
 * the 18th field of stat, the 16th behind the name, as -1 - priority.
 */
static int priority_now(void)
{
	char text[512], *at;
	long priority;

	if (blocked_read(getpid(), blocked_gettid(), "stat", text,
			 sizeof(text)) < 0)
		tap_bail("no stat");
	at = strrchr(text, ')');
	for (int i = 0; i < 16; i++)
		at = strchr(at + 1, ' ');
	priority = strtol(at, NULL, 10);
	return priority < 0 ? -1 - priority : 0;
}

/*
 * In the claim: until the late one's time is over and it sleeps once more. Who
 * was woken asks as well, afterwards.
 */
static enum mutex_holder ops_holder(void *m)
{
	struct timespec *at = &late.deadline.at;

	(void)m;
	if (held_up)
		return MUTEX_FREE;
	while (!deadline_passed(CLOCK_MONOTONIC, at))
		sched_yield();
	while (late.result == RUNNING && !held_up) {
		held_up = blocked_in_futex(getpid(), late.tid, &group->claim) ==
			  1;
		sched_yield();
	}
	rushed = held_up && priority_now() == PRIORITY;
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

static bool ops_is_plain(void *m)
{
	(void)m;
	return true;
}

static const struct mutex_ops ops = {
	.is_plain = ops_is_plain,
	.may_wait = ops_may_wait,
	.stays_held = ops_stays_held,
	.unlock = ops_unlock,
	.unlock_plain = ops_unlock,
	.try_lock = ops_try_lock,
	.lock = ops_lock,
	.word = ops_word,
	.holder = ops_holder,
	.interruptible = ops_interruptible,
	.pi_word = ops_pi_word,
};

static void *wait_once(void *arg)
{
	const struct sched_param param = { .sched_priority = PRIORITY };
	struct once *once = arg;
	int result;

	if (once->timed && real_time &&
	    pthread_setschedparam(pthread_self(), SCHED_FIFO, &param))
		tap_bail("SCHED_FIFO was permitted, and is no longer");
	pthread_mutex_lock(&mutex);
	atomic_store(&once->tid, blocked_gettid());
	result = cond_wait(&cond, waiter_self(), &ops, &mutex,
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

static bool real_time_permitted(void)
{
	struct sched_param param = { .sched_priority = PRIORITY };
	struct sched_param normal = { 0 };
	bool ok = !sched_setscheduler(0, SCHED_FIFO, &param);

	if (ok)
		sched_setscheduler(0, SCHED_OTHER, &normal);
	return ok;
}

int main(int argc, char **argv)
{
	int64_t ns = 50 * NS_PER_MS;

	args_parse(argc, argv, "");
	tap_plan(3);
	real_time = real_time_permitted();
	fake_futex_start((struct fake_futex){ 0 });
	watchdog("a timeout during a claim");
	while (!timeout_in_claim(ns))
		if (!held_up)
			ns *= 2;
	tap_is(patient.result, 0, "who waited first got the signal");
	tap_is(late.result, ETIMEDOUT, "the other one timed out");
	if (real_time)
		tap_ok(rushed, "it lent the signaller its priority meanwhile");
	else
		tap_skip("it lends its priority",
			 "SCHED_FIFO is not permitted");
	return tap_exit();
}
