// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiters of a shared condvar were moved to their mutex. Later others wait on it
 * with a mutex that nobody can be moved to: what a moved thread does to its mutex
 * must not be done to that one. A PI mutex lost its holder, and its waiter slept
 * for ever.
 */
#include "steps.h"

static const struct {
	const char *name;
	uint32_t flags;
	const char *steps;
} rows[] = {
	{ "moved", 0, "wait 2; lock; broadcast_on; unlock; gone 2" },
	{ "then PI", DROVER_MUTEX_PI, "wait 2; each 2 1 = 1" },
	{ "then robust", DROVER_MUTEX_ROBUST, "wait 2; each 2 1 = 1" },
	{ "then recursive", DROVER_MUTEX_RECURSIVE, "wait 2; each 2 1 = 1" },
	{ "then recursive, locked twice", DROVER_MUTEX_RECURSIVE,
	  "lock; lock; time_out = ETIMEDOUT; unlock; unlock" },
};

int main(void)
{
	tap_plan(NR_OF(rows));
	scene_start("", "normal", true);
	for (int i = 0; i < NR_OF(rows); i++) {
		const drover_mutexattr_t attr = {
			.flags = DROVER_MUTEX_SHARED | rows[i].flags,
		};

		MUST(drover_mutex_init(&mutex, &attr));
		tap_ok(scene_holds(rows[i].steps) &&
			       drover_mutex_trylock(&mutex) == 0,
		       "%s: all return", rows[i].name);
		drover_mutex_unlock(&mutex);
	}
	return tap_exit();
}
