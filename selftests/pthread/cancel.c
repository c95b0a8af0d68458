// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cancellation of waiting threads: before they are unblocked it acts, with the
 * mutex held, and takes no signal; afterwards the wait returns 0 and the
 * cancellation stays pending.
 */
#include "../cond/steps.h"

/* A thread that waits, to be cancelled. */
static struct victim {
	pthread_t thread;
	atomic_int tid;
	int state;
	int type;
	bool timed;
	bool self; /* cancels itself before it waits */

	atomic_bool waiting;
	atomic_int result; /* of the wait; -1 if it did not return */
	bool pending;	   /* the cancellation acted after it had returned */
	bool had_mutex;	   /* when it was cancelled */
	int type_after;
	void *end;
} victim;

/* An error-checking mutex knows whether we hold it. */
static void cleanup(void *arg)
{
	victim.had_mutex = pthread_mutex_unlock(&mutex) == 0;
}

static int victim_wait(void)
{
	struct timespec far = deadline_in(CLOCK_MONOTONIC, 1000 * NS_PER_S);

	if (!victim.timed)
		return pthread_cond_wait(&cond, &mutex);
	return pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &far);
}

static void *victim_thread(void *arg)
{
	int ignored;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	atomic_store(&victim.tid, blocked_gettid());
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(cleanup, arg);
	if (victim.self)
		pthread_cancel(pthread_self());
	atomic_store(&victim.waiting, true);
	pthread_setcanceltype(victim.type, &ignored);
	pthread_setcancelstate(victim.state, &ignored);
	atomic_store(&victim.result, victim_wait());
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &victim.type_after);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored);
	victim.pending = true;
	pthread_testcancel();
	victim.pending = false;
	pthread_cleanup_pop(1);
	return NULL;
}

static void victim_start(int state, int type, bool timed, bool self)
{
	memset(&victim, 0, sizeof(victim));
	victim.state = state;
	victim.type = type;
	victim.timed = timed;
	victim.self = self;
	atomic_store(&victim.result, -1);
	start_thread(&victim.thread, victim_thread, NULL);
	while (!atomic_load(&victim.waiting))
		sched_yield();
}

/* Asleep, or it is gone. */
STEP(victim_sleeps)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	if (place_settled(getpid(), atomic_load(&victim.tid), &mutex))
		tap_bail("the victim does not sleep");
	return atomic_load(&victim.result) == -1;
}

/* victim TYPE: "deferred", "asynchronous"; the others are deferred */
STEP(victim)
{
	victim_start(PTHREAD_CANCEL_ENABLE, args[0], false, false);
	return do_victim_sleeps(NULL);
}

STEP(victim_timed)
{
	victim_start(PTHREAD_CANCEL_ENABLE, args[0], true, false);
	return do_victim_sleeps(NULL);
}

STEP(victim_disabled)
{
	victim_start(PTHREAD_CANCEL_DISABLE, args[0], false, false);
	return do_victim_sleeps(NULL);
}

/* It is not a waiter then. */
STEP(victim_of_itself)
{
	victim_start(PTHREAD_CANCEL_ENABLE, args[0], false, true);
	return 0;
}

STEP(victim_off)
{
	scene.nr_off++;
	hold_off(victim.thread);
	return 0;
}

STEP(cancel)
{
	return pthread_cancel(victim.thread);
}

/* It was cancelled in its wait, with the mutex. */
STEP(acts)
{
	pthread_join(victim.thread, &victim.end);
	return victim.end == PTHREAD_CANCELED && victim.had_mutex &&
	       atomic_load(&victim.result) == -1;
}

/* Its wait returned 0, and then the cancellation acted. */
STEP(returns_0_and_acts)
{
	pthread_join(victim.thread, &victim.end);
	return victim.end == PTHREAD_CANCELED && victim.had_mutex &&
	       atomic_load(&victim.result) == 0 && victim.pending;
}

/* It or the first member has the signal. */
STEP(one_has_it)
{
	bool cancelled;

	pthread_join(victim.thread, NULL);
	cancelled = atomic_load(&victim.result) == -1;
	if (cancelled)
		fixture_gone(&fixture, 1);
	return fixture_count(&fixture, RETURNED) == cancelled;
}

STEP(type_afterwards)
{
	pthread_join(victim.thread, NULL);
	return victim.type_after;
}

NUMBER(deferred, PTHREAD_CANCEL_DEFERRED);
NUMBER(asynchronous, PTHREAD_CANCEL_ASYNCHRONOUS);

/* A signal after it goes to the one who waits beside the victim. */
#define CANCELLED_ALONE \
	"wait; cancel; acts = 1; waiting = 1; signal; gone 1; zeros = 1"

static const struct scene scenes[] = {
	{ "blocked: acts, mutex held, and takes no signal",
	  "victim deferred; " CANCELLED_ALONE },
	{ "timed, blocked: acts, mutex held, and takes no signal",
	  "victim_timed deferred; " CANCELLED_ALONE },
	{ "asynchronous, blocked: acts, mutex held, and takes no signal",
	  "victim asynchronous; " CANCELLED_ALONE },
	/* Unblocked, but the mutex is taken when it is cancelled. */
	{ "after a signal: returns 0, then acts",
	  "victim deferred; lock; signal; cancel; unlock;"
	  "returns_0_and_acts = 1" },
	{ "after a broadcast: returns 0, then acts",
	  "victim deferred; wait; lock; broadcast; cancel; unlock;"
	  "returns_0_and_acts = 1; gone 1" },
	{ "disabled: stays blocked, and acts when enabled",
	  "victim_disabled deferred; cancel; victim_sleeps = 1; signal;"
	  "returns_0_and_acts = 1" },
	{ "pending before: acts, mutex held",
	  "wait; victim_of_itself deferred; acts = 1; signal; gone 1" },
	/* What the library makes of the type is for the wait only. */
	{ "the type is what it was", "victim_disabled asynchronous; signal;"
				     "type_afterwards = asynchronous" },
};

/* Unblocked, but it has not noticed yet when it is cancelled. */
static const struct scene unnoticed[] = {
	{ "just after a signal: returns 0, then acts",
	  "victim deferred; victim_off; signal; cancel; on;"
	  "returns_0_and_acts = 1" },
	{ "just after a broadcast: returns 0, then acts",
	  "victim deferred; victim_off; broadcast; cancel; on;"
	  "returns_0_and_acts = 1" },
	{ "with a signal: it or another takes that",
	  "victim deferred; wait; victim_off; off 0 0; signal; cancel; on;"
	  "one_has_it = 1" },
};

static void test(const char *policy)
{
	for (int shared = 0; shared <= 1; shared++) {
		char label[64];

		snprintf(label, sizeof(label), "%s: %s", policy,
			 shared ? "shared" : "private");
		/* Such a mutex knows whether a thread holds it. */
		scene_start(policy, "errorcheck", shared);
		scenes_test(label, scenes, NR_OF(scenes));
		if (HANDLERS_ARE_PROMPT)
			scenes_test(label, unnoticed, NR_OF(unnoticed));
		else
			tap_skip_all(NR_OF(unnoticed), label,
				     "handlers are late");
	}
}

int main(int argc, char **argv)
{
	drop_in_load(argv);
	if (!FRAMES_MAY_UNWIND)
		return frames_stay();
	return policy_main(argv, test);
}
