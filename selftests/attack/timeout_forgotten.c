// SPDX-License-Identifier: GPL-2.0-only
/*
 * A waiter's time runs out while a signaller has claimed its group, and the
 * signal is for another waiter: it must still time out. It once slept until the
 * claim was over, but the signal woke only the other one. While it waits for the
 * end of the claim, the signaller has its priority.
 *
 * The signaller is the test itself: it claims and posts by the library's own
 * functions, to which it is linked.
 */
#include <pthread.h>

#include "cond/cond.h"
#include "api.h"
#include "blocked.h"
#include "fake_futex.h"
#include "tap.h"

static api_cond_t cond;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;
static struct cond *const inside = (struct cond *)&cond;

/* A thread that waits once. */
struct once {
	pthread_t thread;
	struct timespec deadline;
	bool timed;
	atomic_int tid;	   /* set with the mutex held */
	atomic_int result; /* RUNNING: none yet */
};

#define RUNNING	 (-1)
#define PRIORITY 7

static struct once patient, late;
static bool real_time;

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

static void *wait_once(void *arg)
{
	const struct sched_param param = { .sched_priority = PRIORITY };
	struct once *once = arg;
	int result;

	if (once->timed && real_time &&
	    pthread_setschedparam(pthread_self(), SCHED_FIFO, &param))
		tap_bail("SCHED_FIFO was permitted, and is no longer");
	api_mutex_lock(&mutex);
	atomic_store(&once->tid, blocked_gettid());
	result = once->timed ?
			 api_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC,
					    &once->deadline) :
			 api_cond_wait(&cond, &mutex);
	atomic_store(&once->result, result);
	api_mutex_unlock(&mutex);
	return NULL;
}

static void start(struct once *once)
{
	atomic_store(&once->tid, 0);
	atomic_store(&once->result, RUNNING);
	if (pthread_create(&once->thread, NULL, wait_once, once) ||
	    wait_at_least(&once->tid, 1))
		tap_bail("pthread_create");
	/* With a deadline it may be over before that is seen. */
	if (wait_blocked(getpid(), once->tid, NULL) && !once->timed)
		tap_bail("it never slept");
}

/* Until the late one's time is over and it sleeps once more. */
static bool meets_claim(struct group *g)
{
	bool met = false;

	while (!deadline_passed(CLOCK_MONOTONIC, &late.deadline))
		sched_yield();
	while (late.result == RUNNING && !met) {
		met = blocked_in_futex(getpid(), late.tid, &g->claim.pi) == 1;
		sched_yield();
	}
	return met;
}

/* Signal. Return: whether the timeout met the claim. @rushed: and lent us its
 * priority.
 */
static bool signal_late(bool *rushed)
{
	struct group *g;
	bool met;

	cond_lock(inside);
	g = group_claim(load_relaxed(&inside->open), inside);
	if (!g)
		tap_bail("nobody waits");
	lock_drop(&inside->lock);
	met = meets_claim(g);
	*rushed = met && priority_now() == PRIORITY;
	group_unblock(g, 1, 0);
	futex_wake(LOW_HALF(&g->state), 1, false);
	group_unpin(g);
	return met;
}

/*
 * Returns whether the timeout met the claim and the other one was quicker to
 * get the signal, which both may have; @ns: until the timeout.
 */
static bool timeout_in_claim(int64_t *ns, bool *rushed)
{
	bool met;

	api_cond_init(&cond);
	start(&patient);
	late.timed = true;
	late.deadline = deadline_in(CLOCK_MONOTONIC, *ns);
	start(&late);
	met = signal_late(rushed);
	if (!met)
		*ns *= 2;
	pthread_join(late.thread, NULL);
	if (late.result == 0)
		api_cond_broadcast(&cond);
	pthread_join(patient.thread, NULL);
	return met && late.result != 0;
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
	bool rushed;

	args_parse(argc, argv, "");
	tap_plan(3);
	real_time = real_time_permitted();
	fake_futex_start((struct fake_futex){ 0 });
	watchdog("a timeout during a claim");
	/* From the first mutex on that inherits priorities. */
	lock_use_pi();
	while (!timeout_in_claim(&ns, &rushed))
		;
	tap_is(patient.result, 0, "who waited first got the signal");
	tap_is(late.result, ETIMEDOUT, "the other one timed out");
	if (real_time)
		tap_ok(rushed, "it lent the signaller its priority meanwhile");
	else
		tap_skip("it lends its priority",
			 "SCHED_FIFO is not permitted");
	return tap_exit();
}
