// SPDX-License-Identifier: MIT
/*
 * When to wake and when to move: the only place that decides, and it never
 * affects correctness.
 *
 * Moving pays when the mutex is held: a woken waiter would find it taken and
 * go to sleep a second time. If the caller itself holds it, nobody needs to be
 * woken at all: its unlock wakes the first. If the mutex is free and the
 * critical sections are short, waking is cheaper: each moved waiter costs one
 * more FUTEX_WAKE, by the unlock of the one before it. The measurements are
 * in Documentation/benchmarks.rst.
 *
 * A single thread is no herd. Whether it had better be woken while the caller
 * still has the mutex depends on who runs first, which every program and
 * machine decides anew: each condvar learns it from those that were woken.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cond_internal.h"

enum policy {
	POLICY_AUTO,
	POLICY_REQUEUE,
	POLICY_WAKE_ALL
};

static const char *const policy_names[] = {
	[POLICY_AUTO] = "auto",
	[POLICY_REQUEUE] = "requeue",
	[POLICY_WAKE_ALL] = "wake-all",
};

/* Constant once the library is loaded. */
static enum policy policy;

/*
 * One that was woken and found the mutex held weighs as much as eight that found
 * it free: it costs two switches, the others save a system call or two. Three
 * in a row that found it held are enough to begin to move, and four that found
 * it free are enough to stop: some signals that would move wake instead, to see.
 * That is every fourth at first, and half as often each time that the mutex was
 * held, down to every 32nd: so what was chance is soon forgotten, and what is
 * the rule is not tried again and again.
 *
 * A signaller that has signalled nobody since it last signalled somebody works in
 * batches, as a producer does. One that is moved runs as soon as the mutex is
 * free, takes a single item and sleeps again; one that is woken early and finds
 * the mutex held leaves the signaller the time for more. So a batch weighs as much
 * against moving as one that found the mutex held does for it.
 */
enum {
	FOUND_HELD = 8,
	FOUND_FREE = -1,
	FOUND_BATCH = -8,
	MOST_HELD = 4,
	LEAST_HELD = -16,
	LOOK_EVERY = 2,
	MOST_CERTAIN = 4
};

/* The kernel or a sandbox has refused a requeue; never cleared. */
static atomic_bool refused;

__attribute__((constructor)) static void policy_from_environment(void)
{
	const char *name = secure_getenv("DROVER_POLICY");

	if (!name || !*name)
		return;
	for (int i = POLICY_AUTO; i <= POLICY_WAKE_ALL; i++) {
		if (strcmp(name, policy_names[i]) == 0) {
			policy = i;
			return;
		}
	}
	fprintf(stderr,
		"drover: DROVER_POLICY=%s is unknown, using auto; it may be auto, requeue or wake-all\n",
		name);
}

void policy_requeue_refused(void)
{
	store_relaxed(&refused, true);
}

/* Do the two halves of requeue-PI exist? Each is asked for a wrong value. */
static bool requeue_pi_works(void)
{
	static futex_word word, target;

	return futex_wait_requeue_pi(&word, 1, NULL, &target) == -EAGAIN &&
	       futex_cmp_requeue_pi(&word, 1, 0, &target) == -EAGAIN;
}

static atomic_int requeue_pi; /* once REFUSED, it stays so */

enum {
	UNKNOWN,
	WORKS,
	REFUSED
};

void policy_requeue_pi_refused(void)
{
	store_relaxed(&requeue_pi, REFUSED);
}

bool policy_requeue_pi(void)
{
	int now = load_relaxed(&requeue_pi), found;

	if (now == UNKNOWN) {
		found = policy != POLICY_WAKE_ALL && requeue_pi_works() ?
				WORKS :
				REFUSED;
		if (cas_relaxed(&requeue_pi, &now, found))
			now = found;
	}
	return now == WORKS;
}

bool policy_wake_early(struct evidence *e)
{
	if (policy == POLICY_REQUEUE)
		return false;
	if (e->held > 0 && ++e->moves < LOOK_EVERY << e->certain)
		return false;
	e->moves = 0;
	return true;
}

static void weigh(struct evidence *e, int weight)
{
	int held = e->held + weight;

	if (held > 0 && weight > 0 && e->certain < MOST_CERTAIN)
		e->certain++;
	if (held < LEAST_HELD)
		e->certain = 0;
	e->held = held > MOST_HELD  ? MOST_HELD :
		  held < LEAST_HELD ? LEAST_HELD :
				      held;
}

void policy_learn(struct evidence *e, bool found_held)
{
	weigh(e, found_held ? FOUND_HELD : FOUND_FREE);
}

void policy_learn_batch(struct evidence *e)
{
	weigh(e, FOUND_BATCH);
}

struct wake_plan policy_plan(enum mutex_holder holder, bool movable,
			     uint32_t nr_waiters, bool wake_early)
{
	struct wake_plan early = {
		.nr_wake = INT_MAX,
		.learn = holder == MUTEX_HELD_BY_CALLER,
	};
	struct wake_plan wake_all = { .nr_wake = INT_MAX };
	struct wake_plan move_all = { .nr_wake = 0, .move = true };
	struct wake_plan wake_one = { .nr_wake = 1, .move = true };

	if (!movable || policy == POLICY_WAKE_ALL || load_relaxed(&refused))
		return wake_all;
	if (nr_waiters == 1 && wake_early)
		return early;
	if (holder == MUTEX_HELD_BY_CALLER)
		return move_all;
	/* One thread alone is no herd. (A plan for one never wakes one of it.) */
	if (nr_waiters == 1)
		return wake_all;
	if (policy == POLICY_REQUEUE || holder == MUTEX_HELD_BY_OTHER)
		return wake_one;
	return wake_all;
}
