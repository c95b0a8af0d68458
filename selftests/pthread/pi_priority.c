// SPDX-License-Identifier: GPL-2.0-only
/*
 * With a priority-inheriting mutex the waiter of highest priority comes first,
 * and a thread of middle priority keeps nobody waiting.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include "blocked.h"
#include "api.h"
#include "run.h"
#include "sleepers.h"
#include "tap.h"

#define NR_WAITERS 6
#define LOWEST	   10
#define NR_WAITS   200

struct arena {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	atomic_int tid[NR_WAITERS];
	int order[NR_WAITERS + 1]; /* [mutex] who returned when */
	atomic_int nr_returned;
};

static struct arena arena;

static void be_real_time(int priority)
{
	struct sched_param param = { .sched_priority = priority };

	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &param))
		tap_bail("SCHED_FIFO was permitted, and is no longer");
}

static bool real_time_permitted(void)
{
	struct sched_param param = { .sched_priority = LOWEST };
	struct sched_param normal = { 0 };
	bool ok = !sched_setscheduler(0, SCHED_FIFO, &param);

	if (ok)
		sched_setscheduler(0, SCHED_OTHER, &normal);
	return ok;
}

static void *waiter_main(void *arg)
{
	int number = (int)(intptr_t)arg;

	be_real_time(LOWEST + number);
	pthread_mutex_lock(&arena.mutex);
	arena.tid[number] = blocked_gettid();
	pthread_cond_wait(&arena.cond, &arena.mutex);
	/* Who sees the number goes by the order. */
	arena.order[arena.nr_returned] = number;
	arena.nr_returned++;
	pthread_mutex_unlock(&arena.mutex);
	return NULL;
}

/* Start the waiters, the lowest priority first, and see each of them asleep. */
static void start(pthread_t threads[NR_WAITERS])
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	memset(&arena, 0, sizeof(arena));
	pthread_mutex_init(&arena.mutex, &attr);
	pthread_cond_init(&arena.cond, NULL);
	for (int i = 0; i < NR_WAITERS; i++) {
		start_thread(&threads[i], waiter_main, (void *)(intptr_t)i);
		if (wait_at_least(&arena.tid[i], 1) ||
		    wait_blocked(getpid(), arena.tid[i], NULL))
			tap_bail("waiter %d never went to sleep", i);
	}
}

/* The highest priority started last, and has to be the first to return. */
static bool highest_first(void)
{
	bool ok = true;

	for (int i = 0; i < NR_WAITERS; i++) {
		if (arena.order[i] == NR_WAITERS - 1 - i)
			continue;
		tap_diag("return %d was by waiter %d", i, arena.order[i]);
		ok = false;
	}
	return ok;
}

static void test_broadcast(bool held)
{
	pthread_t threads[NR_WAITERS];

	if (variant_is("none")) {
		tap_skip("a broadcast", "without requeue-PI all are woken");
		return;
	}
	watchdog("a broadcast by priority");
	start(threads);
	pthread_mutex_lock(&arena.mutex);
	if (held) {
		pthread_cond_broadcast(&arena.cond);
		pthread_mutex_unlock(&arena.mutex);
	} else {
		pthread_mutex_unlock(&arena.mutex);
		pthread_cond_broadcast(&arena.cond);
	}
	for (int i = 0; i < NR_WAITERS; i++)
		pthread_join(threads[i], NULL);
	tap_ok(highest_first(), "a broadcast, mutex %s: highest priority first",
	       held ? "held" : "free");
}

static void test_signals(void)
{
	pthread_t threads[NR_WAITERS];

	watchdog("signals by priority");
	start(threads);
	for (int i = 0; i < NR_WAITERS; i++) {
		pthread_cond_signal(&arena.cond);
		if (wait_at_least(&arena.nr_returned, i + 1))
			tap_bail("signal %d reached nobody", i);
	}
	for (int i = 0; i < NR_WAITERS; i++)
		pthread_join(threads[i], NULL);
	tap_ok(highest_first(), "signals: highest priority first");
}

/*
 * A waiter that comes when an earlier signal has been taken is chosen by its
 * priority, though others have waited longer. That takes requeue-PI, where a
 * signal is given to a thread by the kernel: without it, whoever comes after a
 * signal could steal it, and has to stand back.
 */
static void test_latecomer(void)
{
	pthread_t threads[NR_WAITERS], late;
	atomic_int *returned = &arena.nr_returned;

	watchdog("a latecomer");
	start(threads);
	pthread_cond_signal(&arena.cond);
	if (wait_at_least(returned, 1))
		tap_bail("the first signal reached nobody");
	pthread_join(threads[NR_WAITERS - 1], NULL);

	arena.tid[NR_WAITERS - 1] = 0;
	if (pthread_create(&late, NULL, waiter_main,
			   (void *)(intptr_t)(NR_WAITERS - 1)) ||
	    wait_at_least(&arena.tid[NR_WAITERS - 1], 1) ||
	    wait_blocked(getpid(), arena.tid[NR_WAITERS - 1], NULL))
		tap_bail("the latecomer never went to sleep");
	pthread_cond_signal(&arena.cond);
	if (wait_at_least(returned, 2))
		tap_bail("the second signal reached nobody");
	if (variant_is("none"))
		tap_is(arena.order[1], NR_WAITERS - 2,
		       "without requeue-PI, one who came before is chosen");
	else
		tap_is(arena.order[1], NR_WAITERS - 1,
		       "a latecomer of high priority is chosen next");
	pthread_cond_broadcast(&arena.cond);
	pthread_join(late, NULL);
	for (int i = 0; i < NR_WAITERS - 1; i++)
		pthread_join(threads[i], NULL);
}

/* A thread of middle priority that never gives up its CPU until told. */
static atomic_bool hog_stop;

static void *hog_main(void *arg)
{
	(void)arg;
	be_real_time(LOWEST + NR_WAITERS);
	while (!hog_stop)
		;
	return NULL;
}

static void *low_main(void *arg)
{
	atomic_bool *enough = arg;

	be_real_time(LOWEST);
	while (!*enough) {
		pthread_cond_signal(&arena.cond);
		pthread_mutex_lock(&arena.mutex);
		pthread_mutex_unlock(&arena.mutex);
	}
	return NULL;
}

/*
 * All on one CPU: low keeps using the condvar and its mutex, middle spins, high
 * waits with a deadline again and again. High can be kept from running only by
 * what low holds, and middle must not prolong that: low would never run again,
 * nor high, and the watchdog ends the program.
 */
static void test_no_inversion(void)
{
	const int high = LOWEST + NR_WAITERS + 10;
	pthread_t low, hog;
	atomic_bool enough = false;
	cpu_set_t one, before;
	int ended = 0;

	watchdog("a hog of middle priority");
	sched_getaffinity(0, sizeof(before), &before);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	be_real_time(high);
	hog_stop = false;
	if (pthread_create(&low, NULL, low_main, &enough) ||
	    pthread_create(&hog, NULL, hog_main, NULL))
		tap_bail("no thread");

	pthread_mutex_lock(&arena.mutex);
	for (int i = 0; i < NR_WAITS; i++) {
		struct timespec deadline =
			deadline_in(CLOCK_MONOTONIC, NS_PER_MS);
		int err = pthread_cond_clockwait(&arena.cond, &arena.mutex,
						 CLOCK_MONOTONIC, &deadline);

		ended += err == 0 || err == ETIMEDOUT;
	}
	pthread_mutex_unlock(&arena.mutex);
	hog_stop = true;
	enough = true;
	pthread_join(hog, NULL);
	pthread_join(low, NULL);
	be_real_time(LOWEST);
	sched_setaffinity(0, sizeof(before), &before);
	tap_is(ended, NR_WAITS,
	       "a hog of middle priority keeps nobody waiting");
}

int main(int argc, char **argv)
{
	(void)argc;
	drop_in_load(argv);
	tap_plan(5);
	if (!real_time_permitted()) {
		for (int i = 0; i < 5; i++)
			tap_skip("priorities", "SCHED_FIFO is not permitted");
		return tap_exit();
	}
	test_broadcast(true);
	test_broadcast(false);
	test_signals();
	test_latecomer();
	test_no_inversion();
	return tap_exit();
}
