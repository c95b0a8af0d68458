// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that give way before they sleep: for a mutex that is held, or, with one
 * CPU, for a signal. What comes while others have the CPU spares the sleep. It is
 * tried a few times only, not after others have kept the CPU for long, and more
 * and more seldom where it was in vain. What happens then is the test's to say:
 * the library calls its sched_yield().
 */
#include "args.h"
#include "blocked.h"
#include "cond_api.h"
#include "deadline.h"
#include "futex_call.h"
#include "policy.h"
#include "watchdog.h"

/* As lib/cond/policy.h has it. */
#define LOOKS 2

/* Longer than any thread of a small program is to be away. */
#define LONG_NS (20 * NS_PER_MS)

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;

/* What others do while the thread gives way. */
enum others {
	OTHERS_NOTHING,
	OTHERS_STAY, /* for long */
	OTHERS_HELP, /* main does what the thread waits for */
};

static _Atomic enum others others;

/* How often the thread has given way, and gone to the kernel. */
static atomic_int nr_given, nr_calls;

/* It has given way to main, and main has done its part. */
static atomic_bool main_may, main_did;

static atomic_int looker_tid;
static _Thread_local bool is_looker;

static void yield_until(atomic_bool *flag)
{
	while (!atomic_load(flag))
		syscall(SYS_sched_yield);
}

int sched_yield(void)
{
	const struct timespec stay = { .tv_nsec = LONG_NS };

	if (!is_looker)
		return (int)syscall(SYS_sched_yield);
	atomic_fetch_add(&nr_given, 1);
	switch (atomic_load(&others)) {
	case OTHERS_STAY:
		clock_nanosleep(CLOCK_MONOTONIC, 0, &stay, NULL);
		break;
	case OTHERS_HELP:
		atomic_store(&main_may, true);
		yield_until(&main_did);
		break;
	default:
		break;
	}
	return 0;
}

/* What the library calls. */
long raw_futex_call(_Atomic uint32_t *word, int op, uint32_t val,
		    const void *timeout_or_val2, _Atomic uint32_t *word2,
		    uint32_t val3)
{
	if (is_looker)
		atomic_fetch_add(&nr_calls, 1);
	return syscall(SYS_futex, word, op, val, timeout_or_val2, word2, val3);
}

static void begin(const char *what, enum others how)
{
	watchdog(what);
	cond = (api_cond_t)API_COND_INITIALIZER;
	atomic_store(&others, how);
	atomic_store(&nr_given, 0);
	atomic_store(&nr_calls, 0);
	atomic_store(&main_may, false);
	atomic_store(&main_did, false);
	atomic_store(&looker_tid, 0);
}

static pthread_t start(void *(*looker)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, looker, arg))
		tap_bail("no thread");
	while (!atomic_load(&looker_tid))
		syscall(SYS_sched_yield);
	return thread;
}

static void looker_begin(void)
{
	atomic_store(&looker_tid, blocked_gettid());
	is_looker = true;
}

static void await_sleep(void)
{
	if (wait_blocked(getpid(), atomic_load(&looker_tid), NULL))
		tap_bail("the thread never slept");
}

#if !API_IS_PTHREAD
static void *lock_once(void *arg)
{
	(void)arg;
	looker_begin();
	drover_mutex_lock(&mutex);
	is_looker = false;
	drover_mutex_unlock(&mutex);
	return NULL;
}

static void test_lock(const char *what, enum others how, int given)
{
	pthread_t thread;

	begin(what, how);
	drover_mutex_lock(&mutex);
	thread = start(lock_once, NULL);
	if (how == OTHERS_HELP)
		yield_until(&main_may);
	else
		await_sleep();
	tap_is(atomic_load(&nr_given), given, "lock, %s: has given way", what);
	drover_mutex_unlock(&mutex);
	atomic_store(&main_did, true);
	pthread_join(thread, NULL);
	tap_is(atomic_load(&nr_calls) > 0, how != OTHERS_HELP,
	       "lock, %s: sleeps if the mutex is still held", what);
}

/* How often each of its locks has given way. */
#define NR_LOCKS 8
static int given[NR_LOCKS];
static atomic_bool main_holds, has_locked;

static void *lock_often(void *arg)
{
	(void)arg;
	looker_begin();
	for (int i = 0; i < NR_LOCKS; i++) {
		int before = atomic_load(&nr_given);

		while (!atomic_exchange(&main_holds, false))
			syscall(SYS_sched_yield);
		drover_mutex_lock(&mutex);
		given[i] = atomic_load(&nr_given) - before;
		drover_mutex_unlock(&mutex);
		atomic_store(&has_locked, true);
	}
	return NULL;
}

static void test_learns(enum others how, const int *expected, const char *what)
{
	pthread_t thread;

	begin(what, how);
	thread = start(lock_often, NULL);
	for (int i = 0; i < NR_LOCKS; i++) {
		drover_mutex_lock(&mutex);
		atomic_store(&main_holds, true);
		if (wait_blocked(getpid(), atomic_load(&looker_tid), &mutex))
			tap_bail("the thread never slept");
		drover_mutex_unlock(&mutex);
		yield_until(&has_locked);
		atomic_store(&has_locked, false);
	}
	pthread_join(thread, NULL);
	tap_ok(!memcmp(given, expected, sizeof(given)), "%s", what);
}

#define NR_LOCK_RESULTS 8

static void test_locks(void)
{
	static const int in_vain[NR_LOCKS] = { LOOKS, 0, LOOKS, 0,
					       0,     0, LOOKS, 0 };
	static const int away[NR_LOCKS] = { 1 };

	test_lock("held", OTHERS_NOTHING, LOOKS);
	test_lock("held, others stay", OTHERS_STAY, 1);
	test_lock("freed", OTHERS_HELP, 1);
	test_learns(OTHERS_NOTHING, in_vain,
		    "lock: looks more and more seldom where that is in vain");
	test_learns(OTHERS_STAY, away,
		    "lock: does not give way again soon to those who stay");
}
#else
#define NR_LOCK_RESULTS 0

static void test_locks(void)
{
}
#endif

static void *wait_once(void *arg)
{
	(void)arg;
	api_mutex_lock(&mutex);
	looker_begin();
	api_cond_wait(&cond, &mutex);
	is_looker = false;
	api_mutex_unlock(&mutex);
	return NULL;
}

/* It sleeps, and is woken with the mutex held, which is then free. */
static void test_relock(void)
{
	pthread_t thread;
	int before;

	begin("relock", OTHERS_NOTHING);
	thread = start(wait_once, NULL);
	await_sleep();
	atomic_store(&others, OTHERS_HELP);
	before = atomic_load(&nr_calls);
	api_mutex_lock(&mutex);
	api_cond_signal(&cond);
	yield_until(&main_may);
	api_mutex_unlock(&mutex);
	atomic_store(&main_did, true);
	pthread_join(thread, NULL);
	tap_is(atomic_load(&nr_calls), before,
	       "relock: what is free again when it comes back is taken");
}

/* Its signal comes while it gives way. */
static void test_met(bool held)
{
	pthread_t thread;

	begin("met", OTHERS_HELP);
	thread = start(wait_once, NULL);
	yield_until(&main_may);
	api_mutex_lock(&mutex);
	if (!held)
		api_mutex_unlock(&mutex);
	api_cond_signal(&cond);
	if (held)
		api_mutex_unlock(&mutex);
	atomic_store(&main_did, true);
	pthread_join(thread, NULL);
	tap_is(atomic_load(&nr_calls), 0,
	       "a signal, mutex %s: who has given way does not sleep",
	       held ? "held" : "free");
	tap_is(atomic_load(&nr_given), 1, "and has done so once");
}

/* Nothing comes, or not soon. */
static void test_missed(const char *what, enum others how)
{
	pthread_t thread;

	begin(what, how);
	thread = start(wait_once, NULL);
	await_sleep();
	tap_is(atomic_load(&nr_given), 1, "%s: sleeps after one look", what);
	atomic_store(&others, OTHERS_NOTHING);
	api_cond_signal(&cond);
	pthread_join(thread, NULL);
	tap_ok(atomic_load(&nr_calls) > 0, "%s: and is woken", what);
}

/* As lib/cond/wait.c has it. */
#define OTHERS_FORGOTTEN 16
#define NR_WAITS	 (OTHERS_FORGOTTEN + 1)

/* How often a thread has given way in all its waits but the last, and in all. */
static int given_before, given_all;
static atomic_bool has_returned;

static void *wait_often(void *arg)
{
	(void)arg;
	api_mutex_lock(&mutex);
	looker_begin();
	for (int i = 0; i < NR_WAITS; i++) {
		given_before = atomic_load(&nr_given);
		api_cond_wait(&cond, &mutex);
		atomic_store(&has_returned, true);
	}
	given_all = atomic_load(&nr_given);
	is_looker = false;
	api_mutex_unlock(&mutex);
	return NULL;
}

/* Who is not the only one to wait there would find that others were faster. */
static void test_many(void)
{
	static const struct timespec past;
	pthread_t thread;

	begin("many", OTHERS_NOTHING);
	api_mutex_lock(&mutex);
	api_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &past);
	api_mutex_unlock(&mutex);
	thread = start(wait_often, NULL);
	for (int i = 0; i < NR_WAITS; i++) {
		await_sleep();
		atomic_store(&has_returned, false);
		api_cond_signal(&cond);
		yield_until(&has_returned);
	}
	pthread_join(thread, NULL);
	tap_is(given_before, 0, "another thread has waited: does not give way");
	tap_is(given_all, 1, "that was long ago: does");
}

/* A deadline that is near leaves no time for others. */
static void *wait_shortly(void *arg)
{
	struct timespec soon = deadline_in(CLOCK_MONOTONIC, NS_PER_MS / 10);

	(void)arg;
	api_mutex_lock(&mutex);
	looker_begin();
	api_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &soon);
	is_looker = false;
	api_mutex_unlock(&mutex);
	return NULL;
}

static void test_deadline(void)
{
	begin("a deadline", OTHERS_STAY);
	pthread_join(start(wait_shortly, NULL), NULL);
	tap_is(atomic_load(&nr_given), 0, "a near deadline: does not give way");
}

#define NR_RESULTS (1 + 2 * 2 + 2 * 2 + 2 + 1)

static void test(const char *policy)
{
	(void)policy;
	test_locks();
	test_met(false);
	test_met(true);
	test_missed("no signal", OTHERS_NOTHING);
	test_missed("a signal that is late", OTHERS_STAY);
	test_many();
	test_relock();
	test_deadline();
}

static const char *const names[] = { "auto,early,look=1,once" };

int main(int argc, char **argv)
{
	struct policy_list list = { names, 1 };

	args_parse(argc, argv, "");
	return policies_main(argv, list, NR_LOCK_RESULTS + NR_RESULTS, test);
}
