// SPDX-License-Identifier: GPL-2.0-only
/*
 * In a sandbox that answers EPERM or ENOSYS to requeues every waiter is woken all
 * the same, also by the very call that finds out; and in one that refuses
 * requeue-PI to threads that sleep for it, whom only signals can wake then.
 *
 * APIs: drover pthread
 */
#include "sandbox.h"
#include "steps.h"

static int error; /* that requeues are refused with */

static void refuse(uint32_t op, uint32_t other)
{
	sandbox_has(filter_answer(SECCOMP_RET_ERRNO | error, op, other));
}

/* refuse, refuse_pi WAITERS: those that come are refused the wait as well */
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
	{ "a broadcast", "PI",
	  "wait 4; refuse_pi 0; lock; broadcast; unlock; gone 4; zeros = 4" },
	{ "signals", "PI", "wait 4; refuse_pi 0; each 4 1 = 1" },
	{ "from the beginning, and signal 33, too", "PI",
	  "no_signals; refuse_pi; wait 4; each 4 1 = 1; wait 2; each 2 1 = 1" },
	{ "from the beginning, but for the wait, and signal 33, too", "PI",
	  "no_signals; refuse_pi 0; wait 4; each 4 1 = 1" },
	/* They join those that were there, and may not sleep as they do. */
	{ "newcomers", "PI",
	  "wait 4; refuse_pi; wait 4; lock; broadcast; unlock; gone 8;"
	  "zeros = 8" },
	{ "afterwards", "PI",
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
