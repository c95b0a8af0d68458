// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cancellation of waiting threads. If a thread is cancelled before it is
 * unblocked, the cancellation acts, with the mutex held, and takes no signal.
 * If it is cancelled afterwards, the wait returns 0 and the cancellation stays
 * pending. The test also cancels at each instruction of a wait, of a signal,
 * and of a pthread_cancel(), for which the waiter once spun.
 *
 * Threads with the asynchronous cancellation type once left a lock of the
 * library locked. So their clean-up handlers wait and cancel here, which takes
 * this lock.
 */
#include "../cond/meet.h"
#include "../cond/victim.h"

/* The victim has a cancellation pending when it calls the wait. */
STEP_DO(victim_of_itself,
	victim_start((struct victim){ .type = args[0], .self = true }));

STEP(victim_off)
{
	scene.nr_off++;
	hold_off(victim.thread);
	return 0;
}

/* Cancel the victim, or without one the thread that is stopped. */
STEP_IS(cancel, pthread_cancel(victim.thread ? victim.thread : caller.thread));

/* Did the victim's wait return 0, and did the cancellation act after it? */
STEP(returns_0_and_acts)
{
	return joined(victim.thread) == PTHREAD_CANCELED && victim.had_mutex &&
	       victim.result == 0 && victim.pending;
}

/* Has either the victim or the first member taken the signal? */
STEP(one_has_it)
{
	bool cancelled;

	if (victim.thread)
		pthread_join(victim.thread, NULL);
	cancelled = victim.result == -1;
	if (cancelled)
		fixture_gone(&fixture, 1);
	return fixture_count(&fixture, RETURNED) == cancelled;
}

STEP(type_afterwards)
{
	pthread_join(victim.thread, NULL);
	return victim.type_after;
}

/* A signal after the cancellation goes to the member that waits as well. */
#define CANCELLED_ALONE \
	"wait; cancel; acts = 1; waiting = 1; signal; gone 1; zeros = 1"

static const struct scene scenes[] = {
	{ "cancelled while blocked: it acts, mutex held, and takes no signal",
	  "victim deferred enabled 0; " CANCELLED_ALONE },
	{ "cancelled in a timed wait: it acts and takes no signal",
	  "victim deferred enabled 1; " CANCELLED_ALONE },
	{ "asynchronous, cancelled while blocked: it acts, takes no signal",
	  "victim asynchronous enabled 0; " CANCELLED_ALONE },
	/* The victim is unblocked, but cannot have the mutex yet. */
	{ "cancelled after a signal: the wait returns 0, then it acts",
	  "victim deferred enabled 0; lock; signal; cancel; unlock;"
	  "returns_0_and_acts = 1" },
	{ "cancelled after a broadcast: the wait returns 0, then it acts",
	  "victim deferred enabled 0; wait; lock; broadcast; cancel; unlock;"
	  "returns_0_and_acts = 1; gone 1" },
	{ "cancellation disabled: the wait goes on, and it acts when enabled",
	  "victim deferred disabled 0; cancel; victim_sleeps = 1; signal;"
	  "returns_0_and_acts = 1" },
	{ "cancelled before the wait: it acts, mutex held",
	  "wait; victim_of_itself deferred; acts = 1; signal; gone 1" },
	/* The library changes the type only for the time of the wait. */
	{ "the cancellation type is the same after the wait",
	  "victim asynchronous disabled 0; signal;"
	  "type_afterwards = asynchronous" },
};

/*
 * The victim is unblocked, but a signal handler keeps it from seeing that
 * before it is cancelled.
 */
static const struct scene unnoticed[] = {
	{ "just after a signal: the wait returns 0, then it acts",
	  "victim deferred enabled 0; victim_off; signal; cancel; on;"
	  "returns_0_and_acts = 1" },
	{ "just after a broadcast: the wait returns 0, then it acts",
	  "victim deferred enabled 0; victim_off; broadcast; cancel; on;"
	  "returns_0_and_acts = 1" },
	{ "cancelled as a signal comes: the victim or another takes it",
	  "victim deferred enabled 0; wait; victim_off; off 0 0; signal; cancel; on;"
	  "one_has_it = 1" },
};

/* The thread that is stopped waits, and is cancelled. */
STEP_DO(no_victim, victim = (struct victim){ .result = -1 });
STEP_DO(wait_cancellable, victim_thread(NULL));

/* A thread that waits now must return 0, because it is cancelled too late. */
STEP(broadcast_is_first)
{
	victim.unblocked = victim.waiting && victim.result == -1;
	return pthread_cond_broadcast(&cond);
}

STEP_IS(unblocked_returned, victim.result == 0 || !victim.unblocked);

static const struct meeting meetings[] = {
	{ "wait, broadcast and then cancel: the wait returns 0",
	  "no_victim; wait", "wait_cancellable",
	  "lock; broadcast_is_first; unlock; cancel",
	  "unblocked_returned = 1" },
	{ "wait, cancel and then signal: one returns", "no_victim; wait",
	  "wait_cancellable", "cancel; signal", "one_has_it = 1" },
	{ "signal and cancel: one returns", "wait; victim deferred enabled 0",
	  "signal", "cancel", "one_has_it = 1" },
};

static struct blocked_call waited_at;
static pthread_t signaller;
static bool settled;

STEP(remember_where)
{
	blocked_in(getpid(), victim.tid, &waited_at);
	settled = false;
	return 0;
}

static void *signal_once(void *arg)
{
	pthread_cond_signal(&cond);
	return arg;
}

/*
 * Wait until the victim has returned, or sleeps at another address than before:
 * for a lock of the library. In between it may be awake for a moment. The
 * signaller is another thread, because it may need a lock that the victim has.
 */
STEP(signal_and_settle)
{
	int64_t deadline = blocked_now_ns() + 4 * NS_PER_S;

	start_thread(&signaller, signal_once, NULL);
	while (!settled && blocked_now_ns() < deadline) {
		struct blocked_call at;

		settled = victim.result == 0 ||
			  (blocked_in(getpid(), victim.tid, &at) == 1 &&
			   at.address != waited_at.address);
		sched_yield();
	}
	return 0;
}

STEP(was_settled)
{
	joined(signaller);
	joined(victim.thread);
	return settled;
}

static const struct meeting canceller_stopped[] = {
	{ "a cancellation is stopped, and a signal unblocks the victim",
	  "victim deferred disabled 0; remember_where", "cancel",
	  "signal_and_settle", "was_settled = 1" },
};

/* ---- the asynchronous type ---- */

static bool had_mutex;

/*
 * This clean-up handler waits, possibly for the first time in its thread, and
 * times out. Then it cancels the victim, possibly for the second time.
 */
static void wait_and_unlock(void *arg)
{
	struct timespec past = deadline_in(CLOCK_MONOTONIC, 0);

	preempt_trap_end();
	pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &past);
	pthread_cancel(victim.thread);
	had_mutex = pthread_mutex_unlock(&mutex) == 0;
}

/* Call @act with the mutex and the asynchronous type. */
static void asynchronously(void (*act)(void))
{
	int ignored;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(wait_and_unlock, NULL);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &ignored);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored);
	act();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &ignored);
	pthread_cleanup_pop(1);
}

static void wait_once(void)
{
	pthread_cond_wait(&cond, &mutex);
}

static void cancel_victim(void)
{
	pthread_cancel(victim.thread);
}

STEP_DO(not_yet, had_mutex = false);
STEP_IS(had_mutex, had_mutex);
STEP_DO(wait_asynchronous, asynchronously(wait_once));
STEP_DO(cancel_asynchronous, asynchronously(cancel_victim));
STEP_IS(cancel_caller, pthread_cancel(caller.thread));

static const struct meeting asynchronous[] = {
	/* There is no signal: the round ends by the cancellation, or never. */
	{ "a thread of asynchronous type is cancelled in a wait", "not_yet",
	  "wait_asynchronous", "cancel_caller", "had_mutex = 1" },
	{ "a thread of asynchronous type is cancelled in a pthread_cancel()",
	  "not_yet", "cancel_asynchronous", "cancel_caller", "had_mutex = 1" },
};

/* The victim waits meanwhile. Its cancellation is disabled. */
static void test_asynchronous(const char *label)
{
	victim_start((struct victim){ .state = PTHREAD_CANCEL_DISABLE });
	/* The cancellation has to be complete before its target goes on. */
	everywhere_spin_ms = 2000;
	meetings_test(label, asynchronous, NR_OF(asynchronous));
	pthread_cond_signal(&cond);
	joined(victim.thread);
}

static void test(const char *policy)
{
	for (int shared = 0; shared <= 1; shared++) {
		char label[64];

		snprintf(label, sizeof(label), "%s: %s", policy,
			 shared ? "shared" : "private");
		/* An error-checking mutex knows whether a thread holds it. */
		scene_start(policy, "errorcheck", shared);
		scenes_test(label, scenes, NR_OF(scenes));
		/*
		 * Only now: the dynamic linker has resolved all functions, so
		 * no cancellation comes while it holds its locks.
		 */
		if (!shared && policy == policies[0])
			test_asynchronous(label);
		if (HANDLERS_ARE_PROMPT)
			scenes_test(label, unnoticed, NR_OF(unnoticed));
		else
			tap_skip_all(NR_OF(unnoticed), label,
				     "ThreadSanitizer delays signal handlers");
		everywhere_spin_ms = 20;
		meetings_test(label, meetings, NR_OF(meetings));
		/* Longer than signal_and_settle() waits before it gives up. */
		everywhere_spin_ms = 10000;
		meetings_test(label, canceller_stopped, 1);
	}
}

int main(int argc, char **argv)
{
	drop_in_load(argv);
	if (!FRAMES_MAY_UNWIND)
		return frames_stay();
	meetings_start(argc, argv, guest_share(150));
	return policy_main(argv, test);
}
