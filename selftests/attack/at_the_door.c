// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that are signalled or cancelled when all they have left to do is the
 * system call in which they sleep: it has to be refused, for the wake-up is over
 * before it begins. They are held in front of that call, or before the library
 * begins it; and a signaller in front of the one that moves a waiter, which has
 * to notice what it has missed.
 *
 * APIs: drover pthread
 */
#include "futex_call.h"
#include "fixture.h"
#include "run.h"
#include "tap.h"

#define NR_WAITERS 2

static api_cond_t cond;
static api_mutex_t mutex;
static atomic_int nr_at_door;
static atomic_bool is_open;
static atomic_bool is_late; /* who is woken does not come back */
static _Thread_local bool went_through, stops_early;
static _Thread_local void (*before_requeue)(void); /* called once */

static void stop_at_door(void)
{
	went_through = true;
	atomic_fetch_add(&nr_at_door, 1);
	while (!atomic_load(&is_open))
		sched_yield();
}

/* The library asks how much CPU time a thread's first sleep costs. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	if (clock == CLOCK_THREAD_CPUTIME_ID && stops_early) {
		stops_early = false;
		stop_at_door();
	}
	return (int)syscall(SYS_clock_gettime, clock, now);
}

/* What the library calls. The first wait of each thread, for a mutex aside. */
long raw_futex_call(_Atomic uint32_t *word, int op, uint32_t val,
		    const void *timeout_or_val2, _Atomic uint32_t *word2,
		    uint32_t val3)
{
	void (*before)(void) = before_requeue;
	long ret;

	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT_BITSET:
		if (!went_through && !api_mutex_has(&mutex, word))
			stop_at_door();
		break;
	case FUTEX_CMP_REQUEUE:
		before_requeue = NULL;
		if (before)
			before();
		break;
	}
	ret = syscall(SYS_futex, word, op, val, timeout_or_val2, word2, val3);
	if (before && (op & FUTEX_CMD_MASK) == FUTEX_CMP_REQUEUE)
		atomic_store(&is_late, false);
	while (!api_mutex_has(&mutex, word) && atomic_load(&is_late) &&
	       (op & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET)
		sched_yield();
	return ret;
}

static void begin(const char *what, bool shared)
{
	watchdog(what);
	atomic_store(&nr_at_door, 0);
	atomic_store(&is_open, false);
	if (kind_cond_init(&cond, shared) ||
	    kind_mutex_init(&mutex, &mutex_kinds[0], shared))
		tap_bail("init");
}

static void await_at_door(int nr)
{
	if (wait_at_least(&nr_at_door, nr))
		tap_bail("the waiters do not come to sleep");
}

static void signal_one(void)
{
	api_cond_signal(&cond);
}

static void broadcast(void)
{
	kind_broadcast(&cond, &mutex);
}

static void test(const char *what, void (*act)(void), int expected, bool shared)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);

	begin(what, shared);
	for (int i = 0; i < NR_WAITERS; i++)
		fixture_start(&fixture, NULL);
	await_at_door(NR_WAITERS);
	act();
	atomic_store(&is_open, true);
	/* Each returns or sleeps, and then nobody is there to wake it. */
	tap_is(fixture_count(&fixture, RETURNED), expected,
	       "%s%s: so many return", what, shared ? ", shared" : "");
	kind_fixture_end(&fixture);
}

static void *wait_early(void *arg)
{
	api_mutex_lock(&mutex);
	stops_early = true;
	api_cond_wait(&cond, &mutex);
	api_mutex_unlock(&mutex);
	return arg;
}

/* It knows already on which value of the word it will sleep. */
static void test_early(const char *what, void (*act)(void))
{
	pthread_t thread;

	begin(what, false);
	if (pthread_create(&thread, NULL, wait_early, NULL))
		tap_bail("pthread_create");
	await_at_door(1);
	act();
	atomic_store(&is_open, true);
	pthread_join(thread, NULL);
	tap_ok(1, "%s, before the call begins: it returns", what);
	api_cond_destroy(&cond);
	api_mutex_destroy(&mutex);
}

/*
 * The signal moves one waiter, and another one, which is awake, takes it: it
 * waits for the mutex behind the first one, who is woken there for nothing.
 */
static void test_taken_by_another(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);

	begin("taken by another", false);
	atomic_store(&is_open, true);
	fixture_add(&fixture, 1);
	atomic_store(&nr_at_door, 0);
	atomic_store(&is_open, false);
	fixture_start(&fixture, NULL);
	await_at_door(1);
	api_mutex_lock(&mutex);
	api_cond_signal(&cond);
	atomic_store(&is_open, true);
	fixture_count(&fixture, RETURNED); /* until nobody is on the way */
	api_mutex_unlock(&mutex);
	tap_is(fixture_count(&fixture, RETURNED), 1,
	       "a signal, taken by another than was moved: one returns");
	kind_fixture_end(&fixture);
}

static bool was_second;

static void *signal_second(void *unused)
{
	(void)unused;
	api_cond_signal(&cond);
	return NULL;
}

static void another_signals(void)
{
	pthread_t signaller;

	was_second = true;
	atomic_store(&is_late, true);
	start_thread(&signaller, signal_second, NULL);
	pthread_join(signaller, NULL);
}

/* Each of those that are moved has to go on to wake the next one. */
static void test_moved(const char *what, void (*act)(void), int nr, int times)
{
	struct fixture fixture = fixture_of(&cond, &mutex, 3);

	begin("several are moved", false);
	atomic_store(&is_open, true);
	fixture_add(&fixture, 3);
	api_mutex_lock(&mutex);
	for (int i = 0; i < times; i++)
		act();
	api_mutex_unlock(&mutex);
	tap_is(fixture_count(&fixture, RETURNED), nr,
	       "%s by the holder: %d return", what, nr);
	kind_fixture_end(&fixture);
}

/*
 * Another signal comes first, so the word is no longer what it was; whom it has
 * woken does not take its token yet, which would make it the same again.
 */
static void test_requeue_missed(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, 3);

	begin("a requeue that misses", false);
	atomic_store(&is_open, true);
	fixture_add(&fixture, 3);
	was_second = false;
	before_requeue = another_signals;
	api_mutex_lock(&mutex);
	api_cond_signal(&cond);
	api_mutex_unlock(&mutex);
	before_requeue = NULL;
	tap_is(fixture_count(&fixture, RETURNED), 1 + was_second,
	       "a signal, %s: each wakes one",
	       was_second ? "and another before it moves" : "which wakes");
	kind_fixture_end(&fixture);
}

#ifdef API_PTHREAD

static atomic_int victim_tid;
static atomic_bool victim_gone;

static void unlock(void *arg)
{
	pthread_mutex_unlock(&mutex);
	atomic_store(&victim_gone, true);
	(void)arg;
}

static void *wait_cancellable(void *arg)
{
	atomic_store(&victim_tid, blocked_gettid());
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, NULL);
	pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(1);
	return arg;
}

static void test_cancel(bool shared)
{
	struct fixture nobody;
	bool asleep = false;
	pthread_t victim;
	void *result;

	if (skips_cancellation("a cancellation"))
		return;
	begin("a cancellation", shared);
	nobody = fixture_of(&cond, &mutex, 1);
	atomic_store(&victim_gone, false);
	start_thread(&victim, wait_cancellable, NULL);
	await_at_door(1);
	pthread_cancel(victim);
	atomic_store(&is_open, true);
	while (!atomic_load(&victim_gone) && !asleep) {
		asleep = place_of(getpid(), atomic_load(&victim_tid), &mutex) ==
			 AT_COND;
		sched_yield();
	}
	/* For one that sleeps, which is cancelled once it is awake. */
	kind_broadcast(&cond, &mutex);
	pthread_join(victim, &result);
	tap_ok(!asleep && result == PTHREAD_CANCELED,
	       "a cancellation%s: it does not sleep", shared ? ", shared" : "");
	kind_fixture_end(&nobody);
}

#else

static void test_cancel(bool shared)
{
	(void)shared;
}

#endif

static void test_all(const char *policy)
{
	(void)policy;
	for (int shared = 0; shared < 2; shared++) {
		test("a signal", signal_one, 1, shared);
		test("a broadcast", broadcast, NR_WAITERS, shared);
		test_cancel(shared);
	}
	test_early("a signal", signal_one);
	test_early("a broadcast", broadcast);
	test_taken_by_another();
	test_moved("two signals", signal_one, 2, 2);
	test_moved("a broadcast", broadcast, 3, 1);
	test_requeue_missed();
}

int main(int argc, char **argv)
{
	(void)argc;
	return policy_main(argv, 10 + 2 * API_IS_PTHREAD, test_all);
}
