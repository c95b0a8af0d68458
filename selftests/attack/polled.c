// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that poll for their signal before they sleep: neither side makes a
 * futex call then; a deadline and a cancellation end the poll; and who was about
 * to sleep is woken. For how long they poll is forced.
 *
 * APIs: drover pthread
 */
#include "run.h"
#include "fixture.h"
#include "futex_call.h"

/* In microseconds: the first is longer than anything here takes. */
#define LONG	"100000"
#define SHORT	"1"
#define LONG_NS (100 * NS_PER_MS)
/* One of so many is not held up by other things. */
#define NR_TRIES 20

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;
static struct fixture fixture;

/* Calls of this thread, and of the waiters until each has the mutex again. */
static _Thread_local int nr_calls;
static atomic_int nr_waiters_calls;

/* What the library calls. */
long raw_futex_call(_Atomic uint32_t *word, int op, uint32_t val,
		    const void *timeout_or_val2, _Atomic uint32_t *word2,
		    uint32_t val3)
{
	nr_calls++;
	return syscall(SYS_futex, word, op, val, timeout_or_val2, word2, val3);
}

static void count(struct member *member)
{
	atomic_fetch_add(&nr_waiters_calls, nr_calls);
}

static struct member *start(const struct timespec *deadline)
{
	const struct member how = {
		.then = count,
		.deadline = deadline,
		.clock = CLOCK_MONOTONIC,
	};

	return fixture_start(&fixture, &how);
}

static void begin(const char *what)
{
	watchdog(what);
	fixture = fixture_of(&cond, &mutex, 2);
	atomic_store(&nr_waiters_calls, 0);
	nr_calls = 0;
}

/*
 * It has joined, and has not met us on the mutex, which costs a call. Return with
 * the mutex.
 */
static void await_join(struct member *member)
{
	int64_t deadline = blocked_deadline();

	while (!atomic_load(&member->waiting) || api_mutex_trylock(&mutex)) {
		if (blocked_over(deadline))
			tap_bail("a waiter never waited");
		sched_yield();
	}
}

/* @nr wait and poll; they are woken by @wake, with the mutex held or not. */
static void test_meets(const char *what, int nr, int (*wake)(api_cond_t *),
		       bool held)
{
	begin(what);
	for (int i = 0; i < nr; i++) {
		await_join(start(NULL));
		if (!held || i < nr - 1)
			api_mutex_unlock(&mutex);
	}
	wake(&cond);
	tap_is(nr_calls, 0, "%s: makes no futex call", what);
	if (held)
		api_mutex_unlock(&mutex);
	fixture_end(&fixture);
	tap_is(atomic_load(&nr_waiters_calls), 0, "%s: nor does a waiter",
	       what);
}

static void test_deadline(void)
{
	bool ok = true, early = false;

	for (int i = 0; i < NR_TRIES && ok && !early; i++) {
		struct timespec soon = deadline_in(CLOCK_MONOTONIC, NS_PER_MS);
		int64_t now = blocked_now_ns();

		begin("a deadline");
		start(&soon);
		fixture_gone(&fixture, 1);
		early = blocked_now_ns() - now < LONG_NS / 2;
		ok = fixture_results(&fixture, ETIMEDOUT) == 1;
		fixture_end(&fixture);
	}
	tap_ok(ok && early, "a deadline ends the poll");
}

#if API_IS_PTHREAD
static void unlock(void *m)
{
	api_mutex_unlock(m);
}

/* @arg: told when it waits, with the mutex held. */
static void *wait_for_cancellation(void *arg)
{
	api_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, &mutex);
	atomic_store((atomic_int *)arg, 1);
	while (true)
		api_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(0);
	return NULL;
}

/* @early: soon after it was cancelled */
static bool is_cancelled(bool *early)
{
	atomic_int waits = 0;
	pthread_t thread;
	int64_t now;
	void *result;

	begin("a cancellation");
	start_thread(&thread, wait_for_cancellation, &waits);
	reached(&waits, 1);
	/* Who gets the mutex now comes after it has joined. */
	api_mutex_lock(&mutex);
	api_mutex_unlock(&mutex);
	now = blocked_now_ns();
	pthread_cancel(thread);
	pthread_join(thread, &result);
	*early = blocked_now_ns() - now < LONG_NS / 2;
	fixture_end(&fixture);
	return result == PTHREAD_CANCELED;
}
#endif

static void test_cancel(void)
{
#if API_IS_PTHREAD
	bool ok = true, early = false;

	if (skips_cancellation("a cancellation ends the poll"))
		return;
	for (int i = 0; i < NR_TRIES && ok && !early; i++)
		ok = is_cancelled(&early);
	tap_ok(ok && early, "a cancellation ends the poll");
#else
	tap_skip("a cancellation ends the poll",
		 "native waits are no cancellation points");
#endif
}

static void test_falls_asleep(const char *what, int (*wake)(api_cond_t *))
{
	begin(what);
	start(NULL);
	member_asleep(&fixture.members[0]);
	wake(&cond);
	fixture_end(&fixture);
	tap_ok(atomic_load(&nr_waiters_calls) > 0,
	       "%s: who has polled in vain sleeps, and is woken", what);
}

static void test(const char *policy)
{
	if (strstr(policy, LONG)) {
		test_meets("signal", 1, api_cond_signal, false);
		test_meets("signal, mutex held", 1, api_cond_signal, true);
		test_meets("broadcast", 1, api_cond_broadcast, false);
		test_meets("broadcast, mutex held", 1, api_cond_broadcast,
			   true);
		test_meets("broadcast to 2", 2, api_cond_broadcast, false);
	} else {
		for (int i = 0; i < 5; i++) {
			test_falls_asleep("signal", api_cond_signal);
			test_falls_asleep("broadcast", api_cond_broadcast);
		}
	}
	test_deadline();
	test_cancel();
}

static const char *const names[] = {
	"spin=" LONG,
	"spin=" SHORT,
};

int main(int argc, char **argv)
{
	struct policy_list list = { names, sizeof(names) / sizeof(*names) };

	args_parse(argc, argv, "");
	return policies_main(argv, list, test);
}
