// SPDX-License-Identifier: GPL-2.0-only
/*
 * A debug build says what a caller does wrong, and aborts: condition variables
 * and mutexes that are NULL, unaligned, destroyed, overwritten, or destroyed
 * under their waiters. What has an errno value gets it, and loses no waiter.
 *
 * APIs: drover pthread
 */
#include "fixture.h"
#include "blocked.h"
#include "sandbox.h"

static api_cond_t cond;
static api_mutex_t mutex;

/* Room for a condvar or mutex that does not begin where it should. */
static union {
	char bytes[sizeof(api_cond_t) + 1];
	uint64_t align;
} room;

#define UNALIGNED_COND	((api_cond_t *)(void *)(room.bytes + 1))
#define UNALIGNED_MUTEX ((api_mutex_t *)(void *)(room.bytes + 1))

/* Read where the compiler does not look. */
static void *volatile no_memory;

static void destroyed(void)
{
	api_cond_destroy(&cond);
}

static void overwritten(void)
{
	memset(&cond, 0xff, sizeof(cond));
}

static void one_waits(void)
{
	static struct fixture fixture;

	fixture = fixture_of(&cond, &mutex, 1);
	fixture_wait(&fixture);
}

static void lock_and_wait(api_cond_t *with)
{
	api_mutex_lock(&mutex);
	api_cond_wait(with, &mutex);
}

static void wait_on(void)
{
	lock_and_wait(&cond);
}

static void wait_until(void)
{
	const struct timespec past = { 0, 0 };

	api_mutex_lock(&mutex);
	api_cond_timedwait(&cond, &mutex, &past);
}

static void signal_it(void)
{
	api_cond_signal(&cond);
}

static void broadcast_it(void)
{
	api_cond_broadcast(&cond);
}

static void wait_on_null(void)
{
	lock_and_wait(no_memory);
}

static void signal_null(void)
{
	api_cond_signal(no_memory);
}

static void wait_unaligned(void)
{
	lock_and_wait(UNALIGNED_COND);
}

static void broadcast_unaligned(void)
{
	api_cond_broadcast(UNALIGNED_COND);
}

static void wait_with_unaligned_mutex(void)
{
	api_cond_wait(&cond, UNALIGNED_MUTEX);
}

static void wait_without_deadline(void)
{
	api_mutex_lock(&mutex);
	api_cond_timedwait(&cond, &mutex, no_memory);
}

#if API_IS_PTHREAD
static void wait_unlocked(void)
{
	pthread_cond_wait(&cond, &mutex);
}
#else
static void mutex_destroyed(void)
{
	drover_mutex_destroy(&mutex);
}

static void lock_it(void)
{
	drover_mutex_lock(&mutex);
}

static void lock_without_deadline(void)
{
	drover_mutex_timedlock(&mutex, CLOCK_MONOTONIC, no_memory);
}
#endif

static const struct misuse misuses[] = {
	{ destroyed, wait_on, "cond_wait(): condition variable" },
	{ destroyed, wait_on, "was destroyed" },
	{ destroyed, wait_until, "was destroyed" },
	{ destroyed, signal_it, "was destroyed" },
	{ destroyed, broadcast_it, "was destroyed" },
	{ destroyed, destroyed, "was destroyed" },
	{ overwritten, signal_it, "was never initialised, or is overwritten" },
	{ overwritten, wait_on, "was never initialised, or is overwritten" },
	{ one_waits, destroyed, "has threads waiting" },
	{ NULL, wait_on_null, "is NULL" },
	{ NULL, signal_null, "cond_signal(): condition variable" },
	{ NULL, wait_unaligned, "is not aligned" },
	{ NULL, broadcast_unaligned, "is not aligned" },
	{ NULL, wait_with_unaligned_mutex, "mutex" },
	{ NULL, wait_without_deadline, "deadline" },
#if API_IS_PTHREAD
	{ NULL, wait_unlocked, "is not held by the caller" },
#else
	{ mutex_destroyed, lock_it, "was destroyed" },
	{ NULL, lock_without_deadline, "mutex_timedlock(): deadline" },
#endif
};

#define NR_MISUSES ((int)(sizeof(misuses) / sizeof(misuses[0])))

/* Somebody waits, and somebody else gets it wrong, as errno can say. */
static void test_nobody_is_lost(void)
{
	const struct timespec below = { .tv_nsec = -1 };
	const struct timespec good = { .tv_nsec = 1 };
	struct fixture fixture = fixture_of(&cond, &mutex, 1);
	bool ok;

	fixture_wait(&fixture);
	api_mutex_lock(&mutex);
	ok = api_cond_timedwait(&cond, &mutex, &below) == EINVAL &&
	     api_cond_clockwait(&cond, &mutex, 4711, &good) == EINVAL;
	api_mutex_unlock(&mutex);
	tap_ok(ok, "bad times and clocks: EINVAL");
	tap_is(fixture_count(&fixture, AT_COND), 1, "who waits waits on");
	api_cond_signal(&cond);
	fixture_gone(&fixture, 1);
	tap_is(fixture_results(&fixture, 0), 1, "and is signalled");
	fixture_end(&fixture);
}

int main(void)
{
	tap_plan(NR_MISUSES + 3);
	watchdog("bad input");
	api_cond_init(&cond);
	api_mutex_init(&mutex);
	for (int i = 0; i < NR_MISUSES; i++)
		misuse_test(&misuses[i]);
	test_nobody_is_lost();
	return tap_exit();
}
