// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signal handlers interrupt a wait, before and after the waiter was moved to
 * the mutex, with and without SA_RESTART. There is no spurious return, and no
 * lost wakeup of a waiter for the condvar or the mutex.
 *
 * APIs: drover pthread
 */
#include "steps.h"

static const struct mode {
	const char *name;
	int sa_flags;
	bool timed;
} modes[] = {
	{ "SA_RESTART", SA_RESTART, false },
	{ "no SA_RESTART", 0, false },
	{ "SA_RESTART, timed", SA_RESTART, true },
	{ "no SA_RESTART, timed", 0, true },
};

static const struct mode *mode;
static atomic_int nr_handled;

static void handle(int signal)
{
	nr_handled++;
}

/* interrupt FIRST TIMES: all members from FIRST on */
STEP(interrupt)
{
	const struct sigaction action = {
		.sa_handler = handle,
		.sa_flags = mode->sa_flags,
	};

	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < args[1]; i++)
		for (int n = args[0]; n < fixture.nr; n++) {
			nr_handled = 0;
			pthread_kill(fixture.members[n].thread, SIGUSR1);
			reached(&nr_handled, 1);
		}
	return 0;
}

STEP(waits)
{
	static struct timespec far;
	const struct member how = {
		.deadline = mode->timed ? &far : NULL,
		.clock = CLOCK_MONOTONIC,
	};

	far = deadline_in(CLOCK_MONOTONIC, 1000 * NS_PER_S);
	scene_add(args[0], &how, true);
	return 0;
}

static int wait_not(api_cond_t *c, api_mutex_t *m)
{
	return 0;
}

/* A member that only locks the mutex. */
STEP(locker_queues)
{
	const struct member how = { .wait = wait_not };

	asleep_on(&fixture_start(&fixture, &how)->tid, &mutex);
	return 0;
}

static const struct scene scenes[] = {
	{ "handlers run, and no waiter returns before its signal",
	  "waits 6; interrupt 0 5; waiting = 6; signal; gone 1; waiting = 5;"
	  "broadcast; gone 6; zeros = 6" },
	{ "waiters that are unblocked, but cannot have the mutex yet",
	  "waits 6; lock; broadcast; interrupt 0 5; returned = 0; unlock;"
	  "gone 6; zeros = 6" },
	/*
	 * A signal moves the first waiter to the mutex. A thread that only
	 * locks the mutex queues behind this waiter, and an interrupted waiter
	 * takes the signal. The unlock then wakes the first waiter, which has
	 * no use for it: it must pass the wake-up on to the locker, because no
	 * other thread will wake the locker.
	 */
	{ "the mutex's wake-up is passed on",
	  "waits 6; lock; signal; locker_queues; interrupt 1 1; at_mutex;"
	  "unlock; gone 2; returned = 2; result 6 = 0" },
};

static void test(const char *policy)
{
	scene_start(policy, "normal", false);
	for (int i = 0; i < NR_OF(modes); i++) {
		char label[64];

		mode = &modes[i];
		snprintf(label, sizeof(label), "%s: %s", policy, mode->name);
		scenes_test(label, scenes, NR_OF(scenes));
	}
}

int main(int argc, char **argv)
{
	api_start(argv);
	if (!HANDLERS_ARE_PROMPT)
		return handlers_are_late();
	return policy_main(argv, test);
}
