// SPDX-License-Identifier: GPL-2.0-only
/*
 * A signal or broadcast, stopped after each of its instructions in turn while
 * those who polled for it fall asleep: it has to wake them. And a wait, stopped
 * likewise, while another thread takes the signal that has ended its poll: the
 * next one wakes it.
 *
 * A signal handler keeps the others awake in the midst of their polls.
 *
 *	seed=N	ms=N: for each scenario; 0: each and every instruction
 *
 * APIs: drover pthread
 */
#include "meet.h"

#define POLL_NS (2 * NS_PER_MS)

static const char *const policy[] = { "auto,spin=2000" };

static atomic_int nr_held;
static atomic_bool let_go;

/* Until the poll is over, and later. */
static void hold_in_poll(int signal)
{
	int64_t end = blocked_now_ns() + POLL_NS;

	atomic_fetch_add(&nr_held, 1);
	while (!atomic_load(&let_go))
		sched_yield();
	while (blocked_now_ns() < end)
		;
}

/* poll N: they are held in the midst of their polls */
STEP(poll)
{
	atomic_store(&nr_held, 0);
	atomic_store(&let_go, false);
	for (int i = 0; i < args[0]; i++) {
		scene_add(1, NULL, false);
		pthread_kill(fixture.members[i].thread, SIGUSR1);
	}
	if (wait_at_least(&nr_held, args[0]))
		tap_bail("no signal handler ran");
	return 0;
}

STEP(fall_asleep)
{
	int64_t end = blocked_now_ns() + 10 * POLL_NS;

	atomic_store(&let_go, true);
	while (fixture_any_awake(&fixture) && blocked_now_ns() < end)
		sched_yield();
	return 0;
}

/* Two signals: when the stopped thread has joined, and when it sleeps. */
static pthread_t signaller;
static atomic_bool waits, other_settled;

static void *signal_twice(void *arg)
{
	while (!atomic_load(&waits) || api_mutex_trylock(&mutex))
		sched_yield();
	api_mutex_unlock(&mutex);
	api_cond_signal(&cond);
	while (!atomic_load(&other_settled) ||
	       (!atomic_load(&caller.done) &&
		blocked_in_futex(getpid(), atomic_load(&caller.tid), NULL) !=
			1))
		sched_yield();
	api_cond_signal(&cond);
	return arg;
}

STEP(signaller)
{
	atomic_store(&waits, false);
	atomic_store(&other_settled, false);
	start_thread(&signaller, signal_twice, NULL);
	return 0;
}

STEP(wait_once)
{
	api_mutex_lock(&mutex);
	atomic_store(&waits, true);
	api_cond_wait(&cond, &mutex);
	api_mutex_unlock(&mutex);
	return 0;
}

STEP(settled)
{
	atomic_store(&other_settled, true);
	return 0;
}

STEP(signaller_ends)
{
	return pthread_join(signaller, NULL);
}

static const struct step_word words[] = {
	VERB(poll),    VERB(fall_asleep),    VERB(signaller), VERB(wait_once),
	VERB(settled), VERB(signaller_ends), MEETING_WORDS,   LAST_WORD,
};

static const struct meeting meetings[] = {
	{ "signal to two that fall asleep: each wakes one", "poll 2", "signal",
	  "fall_asleep", "gone 1; waiting = 1; signal; gone 2" },
	{ "broadcast to two that fall asleep: both return", "poll 2",
	  "broadcast", "fall_asleep", "gone 2" },
	{ "wait, and another takes the signal: the next wakes it",
	  "poll 1; signaller", "wait_once", "fall_asleep; settled",
	  "signaller_ends; gone 1" },
};

static void test(const char *name)
{
	const struct sigaction action = { .sa_handler = hold_in_poll };

	sigaction(SIGUSR1, &action, NULL);
	scene_start(name, "normal", false);
	meetings_test("polls", words, meetings, NR_OF(meetings));
}

int main(int argc, char **argv)
{
	api_start(argv);
	scenarios_start(argc, argv, 1500);
	return policies_main(argv, (struct policy_list){ policy, 1 },
			     NR_OF(meetings), test);
}
