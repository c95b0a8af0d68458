// SPDX-License-Identifier: GPL-2.0-only
/*
 * What attributes say of threads: hooks at both ends, CPUs of each, signals that
 * are not theirs; and waits with a deadline, polls, and posts that are cancelled.
 */
#include "tasks.h"

#define NR_WORKERS 3

static atomic_int nr_started, nr_stopped, nr_otherwise;
static _Thread_local int number;

static void start(unsigned int worker, void *nr)
{
	number = (int)worker + 1;
	++*(atomic_int *)nr;
}

static void stop(unsigned int worker, void *arg)
{
	nr_stopped += number == (int)worker + 1;
}

/* In a worker: has it begun, on one CPU, and does it block signals? */
static int look(void *arg)
{
	sigset_t blocked;
	cpu_set_t set;

	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	return number && !sched_getaffinity(0, sizeof(set), &set) &&
	       CPU_COUNT(&set) == 1 && sigismember(&blocked, SIGTERM) &&
	       sigismember(&blocked, SIGALRM) &&
	       !sigismember(&blocked, SIGSEGV);
}

static void test_threads(void)
{
	cpu_set_t one = one_cpu();
	drover_poolattr_t attr = { .workers = NR_WORKERS,
				   .cpu_sets = &one,
				   .nr_cpu_sets = 1,
				   .start = start,
				   .stop = stop,
				   .arg = &nr_started };
	drover_task_t task;

	begin_with(attr);
	submit(&task, look, NULL);
	drover_pool_wait_all(pool);
	tap_is(result_of(&task), 1, "started, on its CPU, without signals");
	end();
	tap_is(nr_started, NR_WORKERS, "each begins once");
	tap_is(nr_stopped, NR_WORKERS, "and ends once");
	CPU_ZERO(&one);
	tap_is(drover_pool_create(&pool, &attr), EINVAL, "no CPU at all");
	attr.nr_cpu_sets = 0;
	tap_is(drover_pool_create(&pool, &attr), EINVAL, "a set of none");
}

static void *let_go(void *tid)
{
	asleep(*(pid_t *)tid);
	gate = 1;
	return NULL;
}

static int wait_until(drover_task_t *task, clockid_t clock,
		      struct timespec until)
{
	return drover_pool_clockwait(pool, task, clock, &until, NULL);
}

static void test_deadlines(void)
{
	drover_task_t task = DROVER_TASK_INITIALIZER(hold, NULL), queued;
	pid_t tid = blocked_gettid();
	pthread_t thread;

	begin(1);
	tap_is(drover_pool_test(pool, &task, NULL), EINVAL,
	       "poll: never begun");
	submit_held(&task);
	submit(&queued, look, NULL);
	tap_is(drover_pool_test(pool, &task, NULL), EBUSY, "poll: it runs");
	tap_is(wait_until(&queued, CLOCK_MONOTONIC, (struct timespec){ 0 }),
	       ETIMEDOUT, "a deadline, queued");
	tap_is(wait_until(&task, CLOCK_MONOTONIC,
			  deadline_in(CLOCK_MONOTONIC, NS_PER_MS)),
	       ETIMEDOUT, "a deadline, running");
	tap_is(wait_until(&task, CLOCK_MONOTONIC,
			  (struct timespec){ 0, NS_PER_S }),
	       EINVAL, "nanoseconds out of range");
	tap_is(wait_until(&task, 77, (struct timespec){ 0 }), EINVAL,
	       "another clock");
	thread = thread_of(let_go, &tid);
	tap_is(wait_until(&task, CLOCK_REALTIME,
			  deadline_in(CLOCK_REALTIME, 100 * NS_PER_S)),
	       0, "it ends before the deadline");
	joined(thread);
	drover_pool_wait(pool, &queued, NULL);
	tap_is(drover_pool_test(pool, &queued, NULL), 0, "poll: it has ended");
	end();
}

static void otherwise(void *answer)
{
	*(int *)answer = drover_pool_wait_all(pool);
	nr_otherwise++;
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

	begin(1);
	drover_pool_post_or(pool, hold, otherwise, &answer);
	reached(&nr_begun, 1);
	for (int i = 0; i < 5; i++)
		drover_pool_post_or(pool, hold, otherwise, &answer);
	thread = thread_of(cancel, NULL);
	reached(&nr_otherwise, 5);
	gate = 1;
	joined(thread);
	tap_is(nr_otherwise, 5, "cancelled posts are told, and no other");
	tap_is(answer, EDEADLK, "inside of the pool");
	tap_is(drover_pool_post_or(pool, hold, otherwise, &answer), ESHUTDOWN,
	       "one that is refused is not");
	drover_pool_free(pool);
}

int main(void)
{
	watchdog("options");
	tap_plan(5 + 8 + 3);
	test_threads();
	test_deadlines();
	test_posts();
	return tap_exit();
}
