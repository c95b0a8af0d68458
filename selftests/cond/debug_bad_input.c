// SPDX-License-Identifier: GPL-2.0-only
/*
 * A debug build says what a caller does wrong, and aborts: condition variables
 * and mutexes that are NULL, unaligned, destroyed, overwritten, or destroyed
 * under their waiters. Mistakes that have an errno value return it, and lose no
 * waiter.
 *
 * APIs: drover pthread
 */
#include "sandbox.h"
#include "steps.h"

/* Room for a condvar or mutex that does not begin where it should. */
static union {
	char bytes[sizeof(api_cond_t) + 1];
	uint64_t align;
} room;

static const struct timespec past = { 0, 0 };

/* The calls' arguments. They are volatile, so the compiler knows no value. */
static api_cond_t *volatile used = &cond;
static api_mutex_t *volatile used_mutex = &mutex;
static const struct timespec *volatile used_deadline = &past;

STEP_DO(null, used = NULL);
STEP_DO(unaligned, used = (void *)(room.bytes + 1));
STEP_DO(unaligned_mutex, used_mutex = (void *)(room.bytes + 1));
STEP_DO(no_deadline, used_deadline = NULL);
STEP_IS(destroyed, api_cond_destroy(&cond));
STEP_IS(mutex_destroyed, api_mutex_destroy(&mutex));
STEP_DO(overwritten, memset(&cond, 0xff, sizeof(cond)));
STEP_IS(use_wait, api_cond_wait(used, used_mutex));
STEP_IS(use_timedwait, api_cond_timedwait(used, used_mutex, used_deadline));
STEP_IS(use_timedlock,
	api_mutex_timedlock(used_mutex, CLOCK_MONOTONIC, used_deadline));
STEP_IS(use_signal, api_cond_signal(used));
STEP_IS(use_broadcast, api_cond_broadcast(used));

/* Times and clocks, for which there is an errno value. */
STEP(bad_time)
{
	const struct timespec below = { .tv_nsec = -1 };

	return api_cond_timedwait(&cond, &mutex, &below);
}

STEP_IS(bad_clock, api_cond_clockwait(&cond, &mutex, 4711, &past));

static const struct {
	const char *steps;
	const char *says;
} rows[] = {
	{ "destroyed; lock; use_wait", "cond_wait(): condition variable" },
	{ "destroyed; lock; use_wait", "was destroyed" },
	{ "destroyed; lock; use_timedwait", "was destroyed" },
	{ "destroyed; use_signal", "was destroyed" },
	{ "destroyed; use_broadcast", "was destroyed" },
	{ "destroyed; destroyed", "was destroyed" },
	{ "overwritten; use_signal", "was never initialised, or is" },
	{ "overwritten; lock; use_wait", "was never initialised, or is" },
	{ "wait; destroyed", "has threads waiting" },
	{ "null; lock; use_wait", "is NULL" },
	{ "null; use_signal", "cond_signal(): condition variable" },
	{ "unaligned; lock; use_wait", "is not aligned" },
	{ "unaligned; use_broadcast", "is not aligned" },
	{ "unaligned_mutex; use_wait", "mutex" },
	{ "no_deadline; lock; use_timedwait", "deadline" },
#if API_IS_PTHREAD
	{ "use_wait", "is not held by the caller" },
#else
	{ "mutex_destroyed; lock", "was destroyed" },
	{ "no_deadline; use_timedlock", "mutex_timedlock(): deadline" },
#endif
};

int main(void)
{
	tap_plan(NR_OF(rows) + 1);
	scene_start("", "normal", false);
	for (int i = 0; i < NR_OF(rows); i++)
		misuse_test(scene_holds, rows[i].steps, rows[i].says);
	/* One thread waits while another makes mistakes with an errno value. */
	tap_ok(scene_holds("wait; lock; bad_time = EINVAL; bad_clock = EINVAL;"
			   "unlock; waiting = 1; signal; gone 1; zeros = 1"),
	       "bad times and clocks: EINVAL, and no waiter is lost");
	return tap_exit();
}
