// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many threads there are beside those that wait: none beyond the bound, the
 * last worker is told so, and a refused thread costs nothing but its share. And
 * pools that grow and shrink.
 */
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define REFUSES
#include "tasks.h"

static atomic_int held_gate, nr_inside, nr_most;
static bool refuse;

static bool refuses(bool memory)
{
	return refuse && !memory;
}

static int hold_apart(void *arg)
{
	nr_begun++;
	return wait_at_least(&held_gate, 1);
}

/* Returns what it was told first; it waits nevertheless. */
static int insist(void *task)
{
	int first = wait_for(task);

	held_gate = 1;
	while (drover_pool_wait(pool, task, NULL) == EAGAIN)
		sched_yield();
	return first;
}

/*
 * The one worker waits for a task that another thread runs. With a spare, another
 * task runs meanwhile.
 */
static int waits_with(uint32_t spares, bool refused)
{
	drover_task_t first, held, waits;
	pthread_t thread;
	int result;

	begin_with((drover_poolattr_t){ .workers = 1, .spares = spares });
	held_gate = 0;
	submit_held(&first);
	submit(&held, hold_apart, NULL);
	thread = thread_of(wait_in_thread, &held);
	reached(&nr_begun, 2);
	submit(&waits, insist, &held);
	refuse = refused;
	gate = 1;
	reached(&sleeper, 1);
	if (spares == 1) {
		drover_pool_post(pool, hold, NULL);
		reached(&nr_begun, 3);
		held_gate = 1;
	}
	drover_pool_wait_all(pool);
	joined(thread);
	result = result_of(&waits);
	refuse = false;
	end();
	return result;
}

static void test_last(void)
{
	watchdog("the last worker");
	tap_is(waits_with(1, false), 0, "a spare takes the place of who waits");
	tap_is(waits_with(DROVER_POOL_NO_SPARES, false), EAGAIN,
	       "without one the last worker is told");
	tap_is(waits_with(2, true), EAGAIN, "and if the system refuses it");
}

static int run_slowly(void *arg)
{
	return wait_blocked(getpid(), sleeper, NULL);
}

/* A child that a worker made is no worker: its waits cost the pool nothing. */
static int fork_and_wait(void *arg)
{
	drover_task_t slow = DROVER_TASK_INITIALIZER(run_slowly, NULL);
	struct timespec never = { .tv_sec = INT32_MAX };
	drover_pool_t *parents = pool;
	uint64_t before;
	sigset_t none;
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		sigemptyset(&none);
		pthread_sigmask(SIG_SETMASK, &none, NULL);
		watchdog("in the child");
		before = stats_of(parents).threads;
		begin(1);
		sleeper = blocked_gettid();
		drover_pool_submit(pool, &slow);
		drover_pool_clockwait(pool, &slow, CLOCK_REALTIME, &never,
				      NULL);
		_exit(before != stats_of(parents).threads);
	}
	waitpid(child, &status, 0);
	return status;
}

static void test_child(void)
{
	drover_task_t task;

	if (!fork_threads_work()) {
		tap_skip("a child with threads", FORK_THREADS_SKIP);
		return;
	}
	begin(1);
	submit(&task, fork_and_wait, NULL);
	drover_pool_wait_all(pool);
	tap_is(result_of(&task), 0, "the child of a worker is none");
	end();
}

/* The child comes back, as the worker that it was. */
static int fork_and_return(void *child)
{
	*(pid_t *)child = fork();
	if (!*(pid_t *)child)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return 0;
}

static int count_apart(void *counter)
{
	++*(atomic_int *)counter;
	return 0;
}

static void test_return(void)
{
	atomic_int *nr = mmap(NULL, sizeof(*nr), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	watchdog("back in the child");
	begin(1);
	drover_pool_post(pool, fork_and_return, &child);
	drover_pool_post(pool, count_apart, nr);
	drover_pool_wait_all(pool);
	waitpid(child, NULL, 0);
	tap_is(*nr, 1, "no task runs again in a child that comes back");
	end();
}

static int exit_thread(void *arg)
{
	pthread_exit(arg);
}

/* The only worker ends and there is none to follow it: until there is. */
static void test_lost(void)
{
	watchdog("no worker is left");
	begin(1);
	submit_held(&(drover_task_t){});
	refuse = true;
	drover_pool_post(pool, exit_thread, NULL);
	drover_pool_post(pool, count, NULL);
	gate = 1;
	drover_pool_wait_all(pool);
	tap_is(nr_run, 1, "the last worker ends, and does what is left first");
	refuse = false;
	drover_pool_post(pool, count, NULL);
	tap_is(wait_at_least(&nr_run, 2), 0, "there is one again");
	end();
}

/* How many run at a time at most. */
static int be_inside(void *arg)
{
	int nr = ++nr_inside;

	if (nr > nr_most)
		nr_most = nr;
	sched_yield();
	nr_inside--;
	return 0;
}

static void test_resize(void)
{
	watchdog("resize");
	begin(1);
	tap_is(drover_pool_resize(pool, 4), 0, "grow");
	for (int i = 0; i < 4; i++)
		drover_pool_post(pool, hold, NULL);
	tap_is(wait_at_least(&nr_begun, 4), 0, "to four at a time");
	tap_is(drover_pool_resize(pool, 1), 0, "shrink");
	gate = 1;
	drover_pool_wait_all(pool);
	await_sleep(4);
	for (int i = 0; i < 200; i++)
		drover_pool_post(pool, be_inside, NULL);
	drover_pool_wait_all(pool);
	tap_is(nr_most, 1, "to one at a time");
	IS(1, stats_of(pool).workers);
	refuse = true;
	tap_is(drover_pool_resize(pool, 8), EAGAIN, "no more threads");
	refuse = false;
	IS(EINVAL, drover_pool_resize(pool, DROVER_POOL_MAX + 1));
	tap_is(drover_pool_resize(pool, 0), 0, "as many as CPUs");
	drover_pool_shutdown(pool, DROVER_POOL_DRAIN);
	tap_is(drover_pool_resize(pool, 9), ESHUTDOWN, "after the end");
	drover_pool_free(pool);
}

int main(void)
{
	tap_plan(3 + 1 + 3 + 9);
	test_last();
	test_child();
	test_return();
	test_lost();
	test_resize();
	return tap_exit();
}
