// SPDX-License-Identifier: GPL-2.0-only
/*
 * In a sandbox that answers EPERM or ENOSYS to requeues, every waiter is woken
 * all the same, even by the call that first gets this answer. A sandbox may
 * also refuse requeue-PI to a program whose threads already sleep in a
 * requeue-PI wait: then only signals can wake these threads.
 *
 * APIs: drover pthread
 */
#include "sandbox.h"
#include "steps.h"

static int error; /* the answer to a requeue */

static void refuse(uint32_t op, uint32_t other)
{
	sandbox_has(filter_answer(SECCOMP_RET_ERRNO | error, op, other));
}

/*
 * refuse_pi WAITERS: if WAITERS is 1, new waiters are refused the wait as well
 */
STEP_DO(refuse, refuse(FUTEX_REQUEUE, FUTEX_CMP_REQUEUE));
STEP_DO(refuse_pi,
	refuse(FUTEX_CMP_REQUEUE_PI,
	       args[0] ? FUTEX_WAIT_REQUEUE_PI : FUTEX_CMP_REQUEUE_PI));
STEP_DO(no_signals, setrlimit(RLIMIT_SIGPENDING, &(struct rlimit){ 0 }));

static const struct row {
	const char *name, *kind, *steps;
} rows[] = {
	{ "broadcasts, mutex held", "normal",
	  "refuse; wait 8; lock; broadcast; unlock; gone 8; wait 8; lock;"
	  "broadcast; unlock; gone 16; zeros = 16" },
	{ "a broadcast after a signal", "normal",
	  "refuse; wait 4; signal; gone 1; wait 4; lock; broadcast; unlock;"
	  "gone 8; zeros = 8" },
	{ "signals, mutex held", "normal", "refuse; wait 8; each 8 1 = 1" },
	{ "PI, a broadcast", "PI",
	  "wait 4; refuse_pi 0; lock; broadcast; unlock; gone 4; zeros = 4" },
	{ "PI, signals", "PI", "wait 4; refuse_pi 0; each 4 1 = 1" },
	{ "PI, all refused from the beginning, and signal 33, too", "PI",
	  "no_signals; refuse_pi; wait 4; each 4 1 = 1; wait 2; each 2 1 = 1" },
	{ "PI, all but the wait refused, and signal 33, too", "PI",
	  "no_signals; refuse_pi 0; wait 4; each 4 1 = 1" },
	/*
	 * Newcomers join the older waiters, but cannot sleep in the same way.
	 */
	{ "PI, a broadcast to older waiters and newcomers", "PI",
	  "wait 4; refuse_pi; wait 4; lock; broadcast; unlock; gone 8;"
	  "zeros = 8" },
	{ "PI, a broadcast to waiters that come after the refusal", "PI",
	  "wait 4; refuse_pi 0; lock; broadcast; unlock; gone 4; wait 4; lock;"
	  "broadcast; unlock; gone 8; zeros = 8" },
}, *row;

static bool in_sandbox(void)
{
	scene_start(scene_policy, row->kind, false);
	return scene_holds(row->steps);
}

static void test(const char *policy)
{
	scene_policy = policy;
	for (row = rows; row < rows + NR_OF(rows); row++) {
		error = EPERM;
		sandbox_run(policy, row->name, in_sandbox);
		error = ENOSYS;
		sandbox_run(policy, row->name, in_sandbox);
	}
}

POLICY_MAIN(test)
