// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiters of a shared condvar were moved to their mutex. Later others wait on it
 * with a mutex that nobody can be moved to: what a moved thread does to its mutex
 * must not be done to that one. A PI mutex lost its holder, and its waiter slept
 * for ever.
 */
#include "fixture.h"
#include "tap.h"

#define NR_WAITERS 2

static const uint32_t later[] = {
	DROVER_MUTEX_SHARED | DROVER_MUTEX_PI,
	DROVER_MUTEX_SHARED | DROVER_MUTEX_ROBUST,
	DROVER_MUTEX_SHARED | DROVER_MUTEX_RECURSIVE,
};

#define NR_LATER ((int)(sizeof(later) / sizeof(later[0])))

static drover_cond_t cond;

static void wait_with(uint32_t flags, bool named)
{
	const drover_mutexattr_t attr = { .flags = flags };
	drover_mutex_t mutex;
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);

	if (drover_mutex_init(&mutex, &attr))
		tap_bail("mutex_init");
	watchdog("waiters");
	fixture_add(&fixture, NR_WAITERS);
	drover_mutex_lock(&mutex);
	if (named)
		drover_cond_broadcast_on(&cond, &mutex);
	else
		drover_cond_signal(&cond);
	drover_mutex_unlock(&mutex);
	if (!named)
		drover_cond_signal(&cond);
	fixture_gone(&fixture, NR_WAITERS);
	fixture_end(&fixture);
	tap_ok(drover_mutex_trylock(&mutex) == 0, "flags %x: all return",
	       flags);
	drover_mutex_unlock(&mutex);
}

/* The mutex is locked twice, so it stays held, and its time runs out. */
static void wait_twice_held(void)
{
	const drover_mutexattr_t attr = { .flags = DROVER_MUTEX_SHARED |
						   DROVER_MUTEX_RECURSIVE };
	struct timespec past = deadline_in(CLOCK_MONOTONIC, 0);
	drover_mutex_t mutex;

	if (drover_mutex_init(&mutex, &attr))
		tap_bail("mutex_init");
	watchdog("locked twice");
	drover_mutex_lock(&mutex);
	drover_mutex_lock(&mutex);
	tap_is(drover_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &past),
	       ETIMEDOUT, "locked twice: the time runs out");
}

int main(void)
{
	const drover_condattr_t attr = { .flags = DROVER_COND_SHARED };

	tap_plan(NR_LATER + 2);
	if (drover_cond_init(&cond, &attr))
		tap_bail("cond_init");
	wait_with(DROVER_MUTEX_SHARED, true);
	for (int i = 0; i < NR_LATER; i++)
		wait_with(later[i], false);
	wait_twice_held();
	return tap_exit();
}
