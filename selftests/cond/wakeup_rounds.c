// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waits without a predicate: every broadcast makes every waiter return once,
 * every signal makes one return, and no waiter returns between them. A thread
 * that begins to wait after a signal does not take the signal from earlier
 * waiters (POSIX.1-2024; sourceware bug 13165). The same holds if a condvar is
 * used with two mutexes, and if a waiter has locked its mutex twice: a
 * broadcast once moved such a waiter to the mutex that it held itself.
 *
 * APIs: drover pthread
 */
#include "steps.h"

/*
 * A thread that timed out on one condvar goes on to wait on another: the
 * library uses its group for the other condvar.
 */
static api_cond_t other_cond = API_COND_INITIALIZER;

static atomic_int nr_timed_out;

static int wait_on_both(api_cond_t *c, api_mutex_t *m)
{
	int err = do_time_out(NULL);

	nr_timed_out++;
	return err == ETIMEDOUT ? api_cond_wait(&other_cond, m) : -1;
}

/* When this returns, the member sleeps on the second condvar. */
STEP(walk)
{
	nr_timed_out = 0;
	fixture_start(&fixture, &(struct member){ .wait = wait_on_both });
	reached(&nr_timed_out, 1);
	member_asleep(&fixture.members[fixture.nr - 1]);
	return 0;
}

STEP_IS(broadcast_other, api_cond_broadcast(&other_cond));

static const struct scene scenes[] = {
	{ "waiters of two condvars are not mixed",
	  "walk; wait; broadcast; gone 1; returned = 1; sleeps 0 = 1;"
	  "broadcast_other; gone 2; zeros = 2" },
	{ "broadcasts, mutex free, each returns all",
	  "wait 4; broadcast; gone 4; wait 4; returned = 4; broadcast; gone 8;"
	  "wait 4; returned = 8; broadcast; gone 12; zeros = 12" },
	{ "broadcasts, mutex held, each returns all",
	  "wait 4; lock; broadcast; unlock; gone 4; wait 4; returned = 4; lock;"
	  "broadcast; unlock; gone 8; wait 4; returned = 8; lock; broadcast;"
	  "unlock; gone 12; zeros = 12" },
	{ "two signals at once make two return",
	  "wait 5; signal 2; gone 2; returned = 2; waiting = 3" },
	{ "four signals by the mutex's holder make four return",
	  "wait 5; lock; signal 4; unlock; gone 4; returned = 4; waiting = 1" },
	{ "as many signals as waiters make all return",
	  "wait 5; signal 5; gone 5; zeros = 5" },
	{ "signals go to older waiters first, and then to younger ones",
	  "wait 3; signal; gone 1; wait 2; signal 2; gone 3; returned = 3;"
	  "signal 2; gone 5; zeros = 5" },
};

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

static const struct scene two_mutexes[] = {
	{ "one mutex after the other",
	  "wait 6; lock; broadcast; unlock; gone 6; wait_second 6;"
	  "lock_second; broadcast; unlock_second; gone 12; wait 6; lock;"
	  "broadcast; unlock; gone 18; zeros = 18" },
	{ "the second mutex works while waiters queue for the first",
	  "wait 6; lock; broadcast; wait_second 6; lock_second; broadcast;"
	  "unlock_second; gone 6; returned = 6; unlock; gone 12; zeros = 12" },
	/* No waiter may be moved to a mutex that is not its own. */
	{ "both at the same time, none held: a broadcast returns all",
	  "wait 3; wait_second 3; broadcast; gone 6; zeros = 6" },
	{ "both at the same time, one held: a broadcast returns all",
	  "wait 3; wait_second 3; lock; broadcast; gone 3; unlock; gone 6;"
	  "zeros = 6" },
	{ "both at the same time, both held: a broadcast returns all",
	  "wait 3; wait_second 3; lock; lock_second; broadcast; unlock;"
	  "unlock_second; gone 6; zeros = 6" },
	{ "both at the same time: a signal returns one",
	  "wait 2; wait_second 2; each 2 1 = 1; lock_second; signal;"
	  "unlock_second; gone 3; returned = 3; each 4 0 = 1" },
};

/*
 * The other members waited first, with the mutex that the last member holds
 * while it waits.
 */
static const struct scene recursive[] = {
	{ "locked twice, a broadcast: the waiter that holds it goes on",
	  "wait_twice_locked; broadcast; gone 1; zeros = 1" },
	{ "locked twice, a signal: the waiter that holds it goes on",
	  "wait_twice_locked; signal; gone 1; zeros = 1" },
	{ "locked twice, a broadcast to it and others: all go on",
	  "wait 4; wait_twice_locked; broadcast; gone 5; zeros = 5" },
	{ "locked twice, signals to it and others: all go on",
	  "wait 4; wait_twice_locked; signal 5; gone 5; zeros = 5" },
};

/*
 * All waiters are held in a signal handler. The signal that is sent then is for
 * one of them.
 */
static const struct scene order[] = {
	{ "a newcomer leaves the signal to two earlier waiters",
	  "wait 2; off 0 1; signal; join; sleeps 2 = 1; on; gone 1;"
	  "returned = 1; sleeps 2 = 1" },
	/* There is no second waiter to which the signal might go. */
	{ "a newcomer leaves the signal to one earlier waiter",
	  "wait; off 0 0; signal; join; sleeps 1 = 1; on; gone 1; returned = 1;"
	  "sleeps 1 = 1" },
	{ "three signals go to the three earlier waiters",
	  "wait 3; off 0 2; signal; wait; signal 2; on; gone 3; returned = 3;"
	  "sleeps 3 = 1" },
	/*
	 * The library remembers the used-up group, and must let no newcomer in.
	 */
	{ "a newcomer leaves the signal after a timeout used up a group",
	  "wait; timed; sleeps 1; signal; in_time; times_out 1; gone 2; wait 2;"
	  "off 2 3; signal; join; sleeps 4 = 1; on; gone 3; returned = 3;"
	  "sleeps 4 = 1" },
};

static void test(const char *policy)
{
	/*
	 * If waiters use a mutex that inherits priorities, the kernel chooses
	 * which one to wake, so a newcomer joins them. But it does not while a
	 * signalled waiter is on its way.
	 */
	scene_start(policy, "PI", false);
	tap_ok(scene_holds("wait 2; lock; signal; time_out = ETIMEDOUT;"
			   "unlock"),
	       "%s: a newcomer leaves the signal, PI", policy);
	scene_start(policy, "normal", false);
	scenes_test(policy, scenes, NR_OF(scenes));
	if (HANDLERS_ARE_PROMPT)
		scenes_test(policy, order, NR_OF(order));
	else
		tap_skip_all(NR_OF(order), policy,
			     "ThreadSanitizer delays signal handlers");
	scenes_test(policy, two_mutexes, NR_OF(two_mutexes));
	scene_start(policy, "recursive", false);
	scenes_test(policy, recursive, NR_OF(recursive));
}

POLICY_MAIN(test)
