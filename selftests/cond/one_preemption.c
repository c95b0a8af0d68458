// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two calls at the same time: the first is stopped after each of its
 * instructions in turn, while the second runs. No wakeup is lost, none is taken
 * twice, and no call touches memory that is gone.
 *
 * APIs: drover pthread
 */
#include "meet.h"

/*
 * Give member 1 time to act on its timeout. It may wait for the stopped call.
 */
STEP(let_it_time_out)
{
	int64_t end = blocked_now_ns() + 20 * NS_PER_MS;

	do_time_passes(NULL);
	while (member_place(&fixture.members[1]) == AWAKE &&
	       blocked_now_ns() < end)
		sched_yield();
	return 0;
}

/* If member 1 has timed out, the signal is for the other member. */
STEP(it_is_over)
{
	while (member_place(&fixture.members[1]) != RETURNED)
		sched_yield();
	if (fixture.members[1].result == ETIMEDOUT)
		fixture_gone(&fixture, 2);
	return 0;
}

/*
 * The stopped call is a wait. It returns 0 and has taken the signal, or it
 * times out and the member returns.
 */
STEP(one_of_both_returns)
{
	if (own_result == 0)
		return fixture_count(&fixture, AT_COND) == 1;
	fixture_gone(&fixture, 1);
	return own_result == ETIMEDOUT;
}

/* A predicate, such as every program has. */
static bool ready;

STEP_DO(not_ready, ready = false);

STEP(wait_until_ready)
{
	api_mutex_lock(&mutex);
	while (!ready)
		api_cond_wait(&cond, &mutex);
	api_mutex_unlock(&mutex);
	return 0;
}

STEP_DO(make_ready, ready = true);

/*
 * The woken waiter destroys and unmaps the condvar while the call still runs.
 */
static struct {
	api_cond_t *cond;
	struct member *member;
	atomic_bool done;
} owner;

static void unmap(struct member *member)
{
	api_cond_destroy(owner.cond);
	munmap(owner.cond, sizeof(*owner.cond));
	owner.done = true;
}

STEP(owner_waits)
{
	owner.cond = map_pages(sizeof(*owner.cond));
	api_cond_init(owner.cond);
	owner.done = false;
	owner.member =
		fixture_start(&fixture, &(struct member){ .cond = owner.cond,
							  .then = unmap });
	member_asleep(owner.member);
	return 0;
}

STEP_IS(signal_owner, api_cond_signal(owner.cond));
STEP_IS(broadcast_owner, api_cond_broadcast(owner.cond));
STEP_DO(owner_settles, thread_settled(&owner.member->tid, &owner.done));

/* The child uses the condvar, in whatever state the fork has copied it. */
static bool use_in_child(void)
{
	api_mutex_t own = API_MUTEX_INITIALIZER;
	int err;

	api_cond_signal(&cond);
	err = api_time_out(&cond, &own);
	broadcast_as(&cond, &own, true);
	api_cond_destroy(&cond);
	return err == ETIMEDOUT;
}

static bool child_was_well;

STEP_DO(fork, child_was_well = child_does(use_in_child, "the child of a fork"));
STEP_IS(child_was_well, child_was_well);

#define TWO_GROUPS "wait 2; signal; gone 1; wait 2"

static const struct meeting meetings[] = {
	{ "signal and signal: two return", "wait 2", "signal", "signal",
	  "gone 2; zeros = 2" },
	{ "signal, and another after a newcomer waits: all three return",
	  "wait 2; signal; gone 1", "signal", "wait; signal",
	  "gone 3; zeros = 3" },
	{ "signal and broadcast: all return", TWO_GROUPS, "signal", "broadcast",
	  "gone 4; zeros = 4" },
	{ "broadcast and signal: all return", TWO_GROUPS, "broadcast", "signal",
	  "gone 4; zeros = 4" },
	{ "broadcast, mutex held, and broadcast: all return", TWO_GROUPS,
	  "broadcast_held", "broadcast", "gone 4; zeros = 4" },
	{ "signal and timeout: one of two returns 0", "wait; timed", "signal",
	  "let_it_time_out", "it_is_over; zeros = 1" },
	{ "signal, mutex held, and timeout: one of two returns 0",
	  "wait; timed", "signal_held", "let_it_time_out",
	  "it_is_over; zeros = 1" },
	{ "timeout and signal: one of two returns 0", "wait", "time_out_held",
	  "signal", "one_of_both_returns = 1" },
	{ "wait and signal: it returns", "not_ready", "wait_until_ready",
	  "lock; make_ready; unlock; signal", "returned = 0" },
	{ "wait and broadcast, mutex held: it returns", "not_ready",
	  "wait_until_ready", "lock; make_ready; broadcast; unlock",
	  "returned = 0" },
	{ "signal, and the waiter destroys the condvar", "owner_waits",
	  "signal_owner", "owner_settles", "gone 1" },
	{ "broadcast, and the waiter destroys the condvar", "owner_waits",
	  "broadcast_owner", "owner_settles", "gone 1" },
	{ "signal and fork: the child can use the condvar", "wait 2", "signal",
	  "fork", "child_was_well = 1" },
	{ "timeout and fork: the child can use the condvar", "wait 2",
	  "time_out_held", "fork", "child_was_well = 1" },
};

STEP_DO(wait_not_held, own_result = errno_kept(api_cond_wait(&cond, &mutex)));

/*
 * The stopped call is a wait without the mutex. A broadcast is not for a
 * newcomer that begins to wait after it.
 */
static const struct meeting not_held[] = {
	{ "wait without the mutex, and signal: the waiter returns", "wait",
	  "wait_not_held", "signal", "gone 1; own_result = EPERM" },
	{ "wait without the mutex, and signal, mutex held: the waiter returns",
	  "wait", "wait_not_held", "signal_held",
	  "gone 1; own_result = EPERM" },
	{ "wait without the mutex, and broadcast, mutex held: one returns",
	  "wait", "wait_not_held", "broadcast_held",
	  "gone 1; own_result = EPERM" },
	{ "wait without the mutex, and broadcast: a newcomer waits on",
	  "gone 0", "wait_not_held", "broadcast; join; sleeps 0",
	  "waiting = 1; own_result = EPERM" },
	{ "wait without the mutex, and broadcast to one: a newcomer waits on",
	  "wait", "wait_not_held", "broadcast; join; sleeps 1",
	  "waiting = 1; returned = 1; own_result = EPERM" },
};

static void test(const char *policy)
{
	scene_start(policy, "normal", false);
	meetings_test(policy, meetings, NR_OF(meetings));
	scene_start(policy, "errorcheck", false);
	meetings_test(policy, not_held, NR_OF(not_held));
}

int main(int argc, char **argv)
{
	api_start(argv);
	meetings_start(argc, argv, guest_share(150));
	return policy_main(argv, test);
}
