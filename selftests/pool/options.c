// SPDX-License-Identifier: GPL-2.0-only
/*
 * What attributes say of threads: hooks at both ends, CPUs of each, signals that
 * are not theirs; and waits with a deadline, polls, and posts that are cancelled.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

#include "blocked.h"
#include "blocks.h"
#include "tap.h"

#define NR_WORKERS 3

static drover_pool_t *pool;
static atomic_int nr_started, nr_stopped, nr_otherwise, nr_inside, gate;
static _Thread_local int number;

static void start(unsigned int worker, void *arg)
{
	number = (int)worker + 1;
	atomic_fetch_add((atomic_int *)arg, 1);
}

static void stop(unsigned int worker, void *arg)
{
	(void)arg;
	if (number == (int)worker + 1)
		atomic_fetch_add(&nr_stopped, 1);
}

/* In a worker: has it begun, on one CPU, and does it block signals? */
static int look(void *arg)
{
	sigset_t blocked;
	cpu_set_t set;

	(void)arg;
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	return number && !sched_getaffinity(0, sizeof(set), &set) &&
	       CPU_COUNT(&set) == 1 && sigismember(&blocked, SIGTERM) &&
	       sigismember(&blocked, SIGALRM) &&
	       !sigismember(&blocked, SIGSEGV);
}

static void test_threads(void)
{
	cpu_set_t all, one;
	drover_poolattr_t attr = { .workers = NR_WORKERS,
				   .cpu_sets = &one,
				   .nr_cpu_sets = 1,
				   .start = start,
				   .stop = stop,
				   .arg = &nr_started };
	drover_task_t task = DROVER_TASK_INITIALIZER(look, NULL);
	int cpu = 0, result = 0;

	sched_getaffinity(0, sizeof(all), &all);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (drover_pool_create(&pool, &attr))
		tap_bail("no pool");
	drover_pool_submit(pool, &task);
	drover_pool_wait_all(pool);
	drover_pool_wait(pool, &task, &result);
	tap_is(result, 1, "started, on its CPU, without signals");
	pool_end(pool, DROVER_POOL_DRAIN);
	tap_is(atomic_load(&nr_started), NR_WORKERS, "each begins once");
	tap_is(atomic_load(&nr_stopped), NR_WORKERS, "and ends once");
	CPU_ZERO(&one);
	tap_is(drover_pool_create(&pool, &attr), EINVAL, "no CPU at all");
	attr.nr_cpu_sets = 0;
	tap_is(drover_pool_create(&pool, &attr), EINVAL, "a set of none");
}

static int hold(void *arg)
{
	(void)arg;
	atomic_fetch_add(&nr_inside, 1);
	return wait_at_least(&gate, 1);
}

static void otherwise(void *arg)
{
	*(int *)arg = drover_pool_wait_all(pool);
	atomic_fetch_add(&nr_otherwise, 1);
}

static void *let_go(void *arg)
{
	if (wait_blocked(getpid(), *(pid_t *)arg, NULL))
		tap_bail("the wait does not sleep");
	atomic_store(&gate, 1);
	return NULL;
}

static void test_deadlines(void)
{
	drover_task_t task = DROVER_TASK_INITIALIZER(hold, NULL);
	drover_task_t queued = DROVER_TASK_INITIALIZER(look, NULL);
	struct timespec past = { 0, 0 }, bad = { 0, 1000000000 };
	struct timespec later = deadline_in(CLOCK_REALTIME, 100 * NS_PER_S);
	pid_t tid = blocked_gettid();
	pthread_t thread;
	int result = -1;

	pool = pool_of(1);
	tap_is(drover_pool_test(pool, &task, NULL), EINVAL,
	       "poll: never begun");
	drover_pool_submit(pool, &task);
	if (wait_at_least(&nr_inside, 1))
		tap_bail("the worker does not begin");
	drover_pool_submit(pool, &queued);
	tap_is(drover_pool_test(pool, &task, NULL), EBUSY, "poll: it runs");
	tap_is(drover_pool_clockwait(pool, &queued, CLOCK_MONOTONIC, &past,
				     NULL),
	       ETIMEDOUT, "a deadline, queued");
	past = deadline_in(CLOCK_MONOTONIC, NS_PER_MS);
	tap_is(drover_pool_clockwait(pool, &task, CLOCK_MONOTONIC, &past, NULL),
	       ETIMEDOUT, "a deadline, running");
	tap_is(drover_pool_clockwait(pool, &task, CLOCK_MONOTONIC, &bad, NULL),
	       EINVAL, "nanoseconds out of range");
	tap_is(drover_pool_clockwait(pool, &task, 77, &past, NULL), EINVAL,
	       "another clock");
	if (pthread_create(&thread, NULL, let_go, &tid))
		tap_bail("no thread");
	tap_is(drover_pool_clockwait(pool, &task, CLOCK_REALTIME, &later,
				     &result),
	       0, "it ends before the deadline");
	tap_is(result, 0, "with its result");
	pthread_join(thread, NULL);
	drover_pool_wait(pool, &queued, NULL);
	tap_is(drover_pool_test(pool, &queued, NULL), 0, "poll: it has ended");
	pool_end(pool, DROVER_POOL_DRAIN);
}

static void *cancel(void *arg)
{
	drover_pool_shutdown(pool, DROVER_POOL_CANCEL);
	return arg;
}

static void test_posts(void)
{
	int answer = -1;
	pthread_t thread;

	pool = pool_of(1);
	atomic_store(&gate, 0);
	atomic_store(&nr_inside, 0);
	drover_pool_post_or(pool, hold, otherwise, &answer);
	if (wait_at_least(&nr_inside, 1))
		tap_bail("the worker does not begin");
	for (int i = 0; i < 5; i++)
		drover_pool_post_or(pool, hold, otherwise, &answer);
	if (pthread_create(&thread, NULL, cancel, NULL))
		tap_bail("no thread");
	tap_is(wait_at_least(&nr_otherwise, 5), 0, "cancelled posts are told");
	atomic_store(&gate, 1);
	pthread_join(thread, NULL);
	tap_is(atomic_load(&nr_otherwise), 5, "and no other");
	tap_is(answer, EDEADLK, "inside of the pool");
	tap_is(drover_pool_post_or(pool, hold, otherwise, &answer), ESHUTDOWN,
	       "one that is refused is not");
	drover_pool_free(pool);
}

int main(void)
{
	watchdog("options");
	tap_plan(5 + 9 + 4);
	test_threads();
	test_deadlines();
	test_posts();
	return tap_exit();
}
