// SPDX-License-Identifier: GPL-2.0-only
/* What drover_mutex_t answers, right and wrong. */
#include <drover/mutex.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "blocked.h"
#include "tap.h"

static drover_mutex_t mutex = DROVER_MUTEX_INITIALIZER;

struct attempt {
	int (*call)(void);
	int result;
	atomic_int tid;
};

static void *attempt_thread(void *arg)
{
	struct attempt *attempt = arg;

	atomic_store(&attempt->tid, blocked_gettid());
	attempt->result = attempt->call();
	return NULL;
}

/* What @call answers in another thread. */
static int elsewhere(int (*call)(void))
{
	struct attempt attempt = { .call = call };
	pthread_t thread;

	start_thread(&thread, attempt_thread, &attempt);
	pthread_join(thread, NULL);
	return attempt.result;
}

static int trylock(void)
{
	return drover_mutex_trylock(&mutex);
}

static int unlock(void)
{
	return drover_mutex_unlock(&mutex);
}

static int timedlock_past(void)
{
	struct timespec past = deadline_in(CLOCK_MONOTONIC, -1);

	return drover_mutex_timedlock(&mutex, CLOCK_MONOTONIC, &past);
}

static int timedlock_before_epoch(void)
{
	const struct timespec before = { .tv_sec = -1 };

	return drover_mutex_timedlock(&mutex, CLOCK_REALTIME, &before);
}

static int timedlock_soon(void)
{
	struct timespec soon = deadline_in(CLOCK_REALTIME, NS_PER_MS);
	int result = drover_mutex_timedlock(&mutex, CLOCK_REALTIME, &soon);

	return deadline_passed(CLOCK_REALTIME, &soon) ? result : -1;
}

static int timedlock_bad_nsec(void)
{
	const struct timespec bad = { .tv_nsec = NS_PER_S };

	return drover_mutex_timedlock(&mutex, CLOCK_MONOTONIC, &bad);
}

static int timedlock_bad_clock(void)
{
	const struct timespec zero = { 0 };

	return drover_mutex_timedlock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &zero);
}

static int lock_and_unlock(void)
{
	drover_mutex_lock(&mutex);
	return drover_mutex_unlock(&mutex);
}

static void test_free(void)
{
	tap_is(drover_mutex_unlock(&mutex), EPERM, "unlock, not locked: EPERM");
	tap_is(drover_mutex_trylock(&mutex), 0, "trylock, free: 0");
	tap_is(drover_mutex_unlock(&mutex), 0, "unlock: 0");
	tap_is(drover_mutex_lock(&mutex), 0, "lock, free: 0");
	tap_is(drover_mutex_unlock(&mutex), 0, "unlock: 0");
	tap_is(timedlock_past(), 0, "timedlock, free, past deadline: 0");
	tap_is(drover_mutex_unlock(&mutex), 0, "unlock: 0");
}

static void test_held(void)
{
	drover_mutex_lock(&mutex);
	tap_is(drover_mutex_trylock(&mutex), EBUSY,
	       "trylock by the holder: EBUSY");
	tap_is(elsewhere(trylock), EBUSY, "trylock by another: EBUSY");
	tap_is(elsewhere(unlock), EPERM, "unlock by another: EPERM");
	tap_is(elsewhere(timedlock_past), ETIMEDOUT,
	       "timedlock, past deadline: ETIMEDOUT");
	tap_is(elsewhere(timedlock_before_epoch), ETIMEDOUT,
	       "timedlock, before the epoch: ETIMEDOUT");
	tap_is(elsewhere(timedlock_soon), ETIMEDOUT,
	       "timedlock, in 1 ms: ETIMEDOUT, not before");
	tap_is(elsewhere(timedlock_bad_nsec), EINVAL,
	       "timedlock, bad tv_nsec: EINVAL");
	tap_is(elsewhere(timedlock_bad_clock), EINVAL,
	       "timedlock, another clock: EINVAL");
	tap_is(drover_mutex_destroy(&mutex), EBUSY, "destroy, locked: EBUSY");
	tap_is(drover_mutex_unlock(&mutex), 0, "still the holder: unlock 0");
	tap_is(elsewhere(lock_and_unlock), 0, "free for another after all");
}

/* A thread that sleeps is woken by the unlock, and a timed one in time. */
static void test_wake(int (*call)(void), const char *what)
{
	struct attempt attempt = { .call = call };
	pthread_t thread;

	drover_mutex_lock(&mutex);
	if (pthread_create(&thread, NULL, attempt_thread, &attempt) ||
	    wait_at_least(&attempt.tid, 1) ||
	    wait_blocked(getpid(), atomic_load(&attempt.tid), &mutex))
		tap_bail("no thread waits for the mutex");
	drover_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
	tap_is(attempt.result, 0, "%s", what);
}

static int timedlock_far(void)
{
	struct timespec far = deadline_in(CLOCK_MONOTONIC, 1000 * NS_PER_S);
	int err = drover_mutex_timedlock(&mutex, CLOCK_MONOTONIC, &far);

	return err ? err : drover_mutex_unlock(&mutex);
}

static void test_init(void)
{
	drover_mutex_t fresh;

	memset(&fresh, 0xff, sizeof(fresh));
	tap_is(drover_mutex_init(&fresh, NULL), 0, "init: 0");
	tap_is(drover_mutex_trylock(&fresh), 0, "init gives an unlocked one");
	drover_mutex_unlock(&fresh);
	tap_is(drover_mutex_destroy(&fresh), 0, "destroy: 0");
	errno = 4711;
	drover_mutex_unlock(&mutex);
	elsewhere(trylock);
	timedlock_past();
	tap_is(errno, 4711, "errno is left alone");
}

int main(void)
{
	watchdog("mutex");
	tap_plan(24);
	test_free();
	test_held();
	test_wake(lock_and_unlock, "unlock wakes a waiting lock");
	test_wake(timedlock_far, "unlock wakes a waiting timedlock");
	test_init();
	return tap_exit();
}
