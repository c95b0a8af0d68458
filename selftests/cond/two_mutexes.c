// SPDX-License-Identifier: GPL-2.0-only
/*
 * One condvar with two mutexes, one after the other, overlapping while waiters
 * of the first are still on the way, and at the same time; and one mutex that a
 * waiter has locked twice, and so keeps. A broadcast once moved that one to the
 * mutex that it held itself, where nobody would ever wake it.
 *
 * APIs: drover pthread
 */
#include "steps.h"

static int wait_as_holder(api_cond_t *c, api_mutex_t *m)
{
	int err = api_mutex_lock(m) ?: api_cond_wait(c, m);

	return err ?: api_mutex_unlock(m);
}

STEP(wait_twice_locked)
{
	const struct member how = { .wait = wait_as_holder };

	asleep_on(&fixture_start(&fixture, &how)->tid, NULL);
	return 0;
}

static const struct scene scenes[] = {
	{ "one mutex after the other",
	  "wait 6; lock; broadcast; unlock; gone 6; wait_second 6;"
	  "lock_second; broadcast; unlock_second; gone 12; wait 6; lock;"
	  "broadcast; unlock; gone 18; zeros = 18" },
	{ "the second works while waiters queue for the first",
	  "wait 6; lock; broadcast; wait_second 6; lock_second; broadcast;"
	  "unlock_second; gone 6; returned = 6; unlock; gone 12; zeros = 12" },
	/* Nobody may be moved to a mutex that is not its own. */
	{ "at the same time, none held: a broadcast returns all",
	  "wait 3; wait_second 3; broadcast; gone 6; zeros = 6" },
	{ "at the same time, one held: a broadcast returns all",
	  "wait 3; wait_second 3; lock; broadcast; gone 3; unlock; gone 6;"
	  "zeros = 6" },
	{ "at the same time, both held: a broadcast returns all",
	  "wait 3; wait_second 3; lock; lock_second; broadcast; unlock;"
	  "unlock_second; gone 6; zeros = 6" },
	{ "at the same time: a signal returns one",
	  "wait 2; wait_second 2; each 2 1 = 1; lock_second; signal;"
	  "unlock_second; gone 3; returned = 3; each 4 0 = 1" },
};

/* The others waited before it, with the mutex that it has then. */
static const struct scene recursive[] = {
	{ "locked twice, a broadcast: the holder goes on",
	  "wait_twice_locked; broadcast; gone 1; zeros = 1" },
	{ "locked twice, a signal: the holder goes on",
	  "wait_twice_locked; signal; gone 1; zeros = 1" },
	{ "locked twice, a broadcast to others, too",
	  "wait 4; wait_twice_locked; broadcast; gone 5; zeros = 5" },
	{ "locked twice, signals to others, too",
	  "wait 4; wait_twice_locked; signal 5; gone 5; zeros = 5" },
};

static void test(const char *policy)
{
	scene_start(policy, "normal", false);
	scenes_test(policy, scenes, NR_OF(scenes));
	scene_start(policy, "recursive", false);
	scenes_test(policy, recursive, NR_OF(recursive));
}

int main(int argc, char **argv)
{
	api_start(argv);
	return policy_main(argv, test);
}
