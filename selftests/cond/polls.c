// SPDX-License-Identifier: GPL-2.0-only
/*
 * Some waiters still poll, and others sleep already. A signal or broadcast then
 * wakes the waiters that it has to wake and no others. While the mutex is in
 * use, a broadcast wakes at most one of the sleepers. A signal handler keeps
 * threads awake in the midst of their polls.
 *
 *	seed=N	where to begin
 *	ms=N	milliseconds for each meeting; 0: each and every instruction
 *
 * APIs: drover pthread
 */
#include "meet.h"

#define NR_SAVED  10 /* more polls than a new thread has saved up */
#define NR_ROUNDS 20 /* on one condvar, which may learn from them */

/*
 * The first policy is for calls that are stopped. Under the second, a poll
 * outlasts a scene.
 */
static const char *const names[] = { "auto,spin=2000", "auto,spin=100000" };

static int64_t poll_ns;
static atomic_int nr_held;
static atomic_bool may_go_on;

/* Returns when it may go on and the time for the poll is over. */
static void hold_in_poll(int signal)
{
	int64_t end = blocked_now_ns() + poll_ns;

	nr_held++;
	while (!may_go_on)
		sched_yield();
	while (blocked_now_ns() < end)
		;
}

/* poll N: N members, which are held in the midst of their polls */
STEP(poll)
{
	nr_held = 0;
	may_go_on = false;
	for (int i = 0; i < args[0]; i++) {
		scene_add(1, NULL, false);
		pthread_kill(fixture.members[fixture.nr - 1].thread, SIGUSR1);
	}
	reached(&nr_held, args[0]);
	return 0;
}

STEP(fall_asleep)
{
	int64_t end = blocked_now_ns() + 10 * poll_ns;

	may_go_on = true;
	while (fixture_any_awake(&fixture) && blocked_now_ns() < end)
		sched_yield();
	return 0;
}

/*
 * This thread sends two signals: one when the stopped thread has joined the
 * waiters, and one when it sleeps.
 */
static pthread_t signaller;
static atomic_bool waits, other_settled;

static void *signal_twice(void *arg)
{
	while (!waits || api_mutex_trylock(&mutex))
		sched_yield();
	api_mutex_unlock(&mutex);
	api_cond_signal(&cond);
	while (!other_settled ||
	       (!caller.done &&
		blocked_in_futex(getpid(), caller.tid, NULL) != 1))
		sched_yield();
	api_cond_signal(&cond);
	return arg;
}

STEP(signaller)
{
	waits = false;
	other_settled = false;
	start_thread(&signaller, signal_twice, NULL);
	return 0;
}

STEP(wait_once)
{
	api_mutex_lock(&mutex);
	waits = true;
	api_cond_wait(&cond, &mutex);
	api_mutex_unlock(&mutex);
	return 0;
}

STEP_DO(settled, other_settled = true);
STEP_IS(signaller_ends, pthread_join(signaller, NULL));

/* This member polls until its account is empty. Then it sleeps at once. */
static atomic_int spent, may_wait;

static int spend_and_wait(api_cond_t *c, api_mutex_t *m)
{
	static api_cond_t other = API_COND_INITIALIZER;

	for (int i = 0; i < NR_SAVED; i++) {
		struct timespec soon = deadline_in(CLOCK_MONOTONIC, poll_ns);

		api_cond_clockwait(&other, m, CLOCK_MONOTONIC, &soon);
	}
	api_mutex_unlock(m);
	spent = 1;
	reached(&may_wait, 1);
	api_mutex_lock(m);
	return api_cond_wait(c, m);
}

STEP(spender)
{
	spent = 0;
	may_wait = 0;
	fixture_start(&fixture, &(struct member){ .wait = spend_and_wait });
	return wait_at_least(&spent, 1);
}

STEP(spender_sleeps)
{
	may_wait = 1;
	member_asleep(&fixture.members[0]);
	return 0;
}

static const struct meeting meetings[] = {
	{ "signal to two that fall asleep: each wakes one", "poll 2", "signal",
	  "fall_asleep", "gone 1; waiting = 1; signal; gone 2" },
	{ "broadcast to two that fall asleep: both return", "poll 2",
	  "broadcast", "fall_asleep", "gone 2" },
	{ "wait, and another waiter takes the signal: the next one wakes it",
	  "poll 1; signaller", "wait_once", "fall_asleep; settled",
	  "signaller_ends; gone 1" },
};

STEP_DO(go_on, may_go_on = true);

/*
 * woken_most N MOST: were at most MOST woken of the first N members, which
 * slept when the broadcast came?
 */
STEP(woken_most)
{
	int nr = 0;

	for (int i = 0; i < args[0]; i++)
		nr += member_place(&fixture.members[i]) != AT_COND;
	return !policy_moves(scene_policy) || nr <= args[1];
}

static void test_some_asleep(void)
{
	bool own = true, of_other = true;

	for (int i = 0; i < NR_ROUNDS; i++) {
		own &= scene_holds("wait 3; poll 5; lock; broadcast;"
				   "woken_most 3 0 = 1; go_on; unlock; gone 8");
		of_other &= scene_holds("wait 3; poll 5; hold; broadcast;"
					"woken_most 3 1 = 1; go_on; let_go;"
					"gone 8");
	}
	tap_ok(own, "a broadcast by the mutex's holder wakes no sleeper");
	tap_ok(of_other, "a broadcast while another thread holds the mutex "
			 "wakes one waiter at most");
}

static void test(const char *name)
{
	const struct sigaction action = { .sa_handler = hold_in_poll };

	sigaction(SIGUSR1, &action, NULL);
	poll_ns = name == names[0] ? 2 * NS_PER_MS : 100 * NS_PER_MS;
	scene_start(name, "normal", false);
	if (name == names[0]) {
		meetings_test("polls", meetings, NR_OF(meetings));
		test_some_asleep();
		return;
	}
	/*
	 * The signal closes the group, which still has one waiter. By a fault
	 * the sleeper was moved to wait behind this older group, of which no
	 * waiter was woken, because none seemed to sleep.
	 */
	tap_ok(scene_holds("spender; poll 2; signal; spender_sleeps;"
			   "hold; broadcast; let_go; go_on; gone 3"),
	       "polls: a waiter that sleeps behind a polling group returns");
}

int main(int argc, char **argv)
{
	api_start(argv);
	if (!HANDLERS_ARE_PROMPT)
		return handlers_are_late();
	meetings_start(argc, argv, guest_share(1500));
	return policies_main(argv, names, 2, test);
}
