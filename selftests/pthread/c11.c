// SPDX-License-Identifier: GPL-2.0-only
/* C11's condition variables, which glibc makes of pthread's. */
#include <threads.h>

#include "fixture.h"
#include "blocked.h"
#include "tap.h"

#define NR_WAITERS 4

static cnd_t cond;
static mtx_t mutex;
static int nr_waiting, nr_returned; /* under the mutex */

static int wait_once(void *arg)
{
	int result;

	(void)arg;
	mtx_lock(&mutex);
	nr_waiting++;
	result = cnd_wait(&cond, &mutex);
	nr_returned++;
	mtx_unlock(&mutex);
	return result;
}

static int locked(const int *number)
{
	int value;

	mtx_lock(&mutex);
	value = *number;
	mtx_unlock(&mutex);
	return value;
}

static void wait_until(const int *number, int value)
{
	while (locked(number) < value)
		thrd_yield();
}

static void test_waiters(void)
{
	thrd_t threads[NR_WAITERS];
	int nr_success = 0;

	for (int i = 0; i < NR_WAITERS; i++)
		if (thrd_create(&threads[i], wait_once, NULL) != thrd_success)
			tap_bail("thrd_create");
	wait_until(&nr_waiting, NR_WAITERS);
	tap_is(cnd_signal(&cond), thrd_success, "cnd_signal");
	wait_until(&nr_returned, 1);
	tap_is(locked(&nr_returned), 1, "it returns one");
	mtx_lock(&mutex);
	tap_is(cnd_broadcast(&cond), thrd_success, "cnd_broadcast");
	mtx_unlock(&mutex);
	for (int i = 0; i < NR_WAITERS; i++) {
		int result;

		thrd_join(threads[i], &result);
		nr_success += result == thrd_success;
	}
	tap_is(nr_success, NR_WAITERS, "all return thrd_success");
}

static void test_timeout(void)
{
	const struct timespec bad = { .tv_nsec = -1 };
	struct timespec soon;

	timespec_get(&soon, TIME_UTC);
	soon.tv_nsec += 2 * NS_PER_MS;
	if (soon.tv_nsec >= NS_PER_S) {
		soon.tv_nsec -= NS_PER_S;
		soon.tv_sec++;
	}
	mtx_lock(&mutex);
	tap_ok(cnd_timedwait(&cond, &mutex, &soon) == thrd_timedout &&
		       deadline_passed(CLOCK_REALTIME, &soon),
	       "cnd_timedwait: thrd_timedout, on TIME_UTC, not before");
	tap_is(cnd_timedwait(&cond, &mutex, &bad), thrd_error,
	       "cnd_timedwait: bad tv_nsec: thrd_error");
	mtx_unlock(&mutex);
}

/* glibc leaves the clock of a cnd_t to be CLOCK_REALTIME; a recursive mtx. */
static void test_recursive(void)
{
	struct timespec past = { .tv_sec = 1 };

	mtx_destroy(&mutex);
	mtx_init(&mutex, mtx_plain | mtx_recursive);
	nr_waiting = 0;
	nr_returned = 0;
	test_waiters();
	mtx_lock(&mutex);
	tap_is(cnd_timedwait(&cond, &mutex, &past), thrd_timedout,
	       "recursive: thrd_timedout");
	mtx_unlock(&mutex);
}

int main(int argc, char **argv)
{
	(void)argc;
	drop_in_load(argv);
	if (!C11_THREADS_ARE_KNOWN)
		return c11_threads_are_unknown();
	watchdog("C11 condvars");
	tap_plan(12);
	mtx_init(&mutex, mtx_plain);
	tap_is(cnd_init(&cond), thrd_success, "cnd_init");
	test_waiters();
	test_timeout();
	test_recursive();
	cnd_destroy(&cond);
	mtx_destroy(&mutex);
	return tap_exit();
}
