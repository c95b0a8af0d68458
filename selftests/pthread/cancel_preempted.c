// SPDX-License-Identifier: GPL-2.0-only
/*
 * A wait, or a signal to it, stopped after each of its instructions in turn
 * while the waiting thread is cancelled: it is cancelled or takes the signal,
 * never both, and never neither.
 */
#include "../cond/meet.h"

/* The one who is cancelled; under the mutex. */
static struct {
	pthread_t thread; /* if it is not the one that is stopped */
	atomic_int tid;
	bool waiting;	/* has the mutex and goes to wait */
	bool returned;	/* from the wait */
	bool unblocked; /* waited at the time of the broadcast */
} victim;

static void unlock(void *arg)
{
	preempt_trap_end();
	pthread_mutex_unlock(&mutex);
}

STEP(wait_cancellable)
{
	int ignored;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, NULL);
	victim.waiting = true;
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored);
	pthread_cond_wait(&cond, &mutex);
	victim.returned = true;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	pthread_cleanup_pop(1);
	return 0;
}

static void *wait_apart(void *arg)
{
	atomic_store(&victim.tid, blocked_gettid());
	do_wait_cancellable(NULL);
	return arg;
}

STEP(no_victim)
{
	memset(&victim, 0, sizeof(victim));
	return 0;
}

STEP(victim)
{
	do_no_victim(NULL);
	start_thread(&victim.thread, wait_apart, NULL);
	if (wait_at_least(&victim.tid, 1) ||
	    place_settled(getpid(), atomic_load(&victim.tid), &mutex))
		tap_bail("the victim never slept");
	return 0;
}

STEP(victim_ends)
{
	return pthread_join(victim.thread, NULL);
}

STEP(cancel)
{
	return pthread_cancel(victim.thread ? victim.thread : caller.thread);
}

/* Who waits now has to return 0: it is cancelled too late. */
STEP(broadcast_is_first)
{
	victim.unblocked = victim.waiting && !victim.returned;
	return pthread_cond_broadcast(&cond);
}

STEP(unblocked_returned)
{
	return victim.returned || !victim.unblocked;
}

/* One of two returns for the signal. */
STEP(one_has_signal)
{
	if (!victim.returned)
		fixture_gone(&fixture, 1);
	return fixture_count(&fixture, RETURNED) == !victim.returned;
}

static const struct meeting meetings[] = {
	{ "wait, broadcast and then cancel: it returns", "no_victim; wait",
	  "wait_cancellable", "lock; broadcast_is_first; unlock; cancel",
	  "unblocked_returned = 1" },
	{ "wait, cancel and then signal: one returns", "no_victim; wait",
	  "wait_cancellable", "cancel; signal", "one_has_signal = 1" },
	{ "signal and cancel: one returns", "wait; victim", "signal", "cancel",
	  "victim_ends; one_has_signal = 1" },
};

static void test(const char *policy)
{
	char label[64];

	for (int shared = 0; shared <= 1; shared++) {
		scene_start(policy, "normal", shared);
		snprintf(label, sizeof(label), "%s: %s", policy,
			 shared ? "shared" : "private");
		meetings_test(label, meetings, NR_OF(meetings));
	}
}

int main(int argc, char **argv)
{
	drop_in_load(argv);
	if (!FRAMES_MAY_UNWIND)
		return frames_stay();
	scenarios_start(argc, argv, 150);
	return policy_main(argv, test);
}
