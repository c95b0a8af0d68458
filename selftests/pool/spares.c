// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many threads there are beside those that wait: none beyond the bound, the
 * last worker is told so, and a refused thread costs nothing but its share. And
 * pools that grow and shrink.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "blocked.h"
#include "blocks.h"
#include "tap.h"

static drover_pool_t *pool;
static atomic_int first_gate, held_gate, nr_begun, tid, nr_inside, nr_most;
static bool refuse;

/* What the library calls: the program's comes before the C library's. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
		   void *(*begin)(void *), void *arg)
{
	static int (*real)(pthread_t *, const pthread_attr_t *,
			   void *(*)(void *), void *);

	if (!real)
		real = (int (*)(pthread_t *, const pthread_attr_t *,
				void *(*)(void *),
				void *))dlsym(RTLD_NEXT, "pthread_create");
	return refuse ? EAGAIN : real(thread, attr, begin, arg);
}

static int hold(void *gate)
{
	atomic_fetch_add(&nr_begun, 1);
	return wait_at_least(gate, 1);
}

static void *run_held(void *arg)
{
	drover_pool_wait(pool, arg, NULL);
	return NULL;
}

/* Returns what it was told first; it waits nevertheless. */
static int wait_for(void *arg)
{
	int first;

	atomic_store(&tid, blocked_gettid());
	first = drover_pool_wait(pool, arg, NULL);
	atomic_store(&held_gate, 1);
	while (drover_pool_wait(pool, arg, NULL) == EAGAIN)
		sched_yield();
	return first;
}

static void begin(drover_task_t *task, atomic_int *gate)
{
	int before = atomic_load(&nr_begun);

	atomic_store(gate, 0);
	drover_task_init(task, hold, gate);
	drover_pool_submit(pool, task);
	if (gate == &first_gate && wait_at_least(&nr_begun, before + 1))
		tap_bail("the worker does not begin");
}

/*
 * The one worker waits for a task that another thread runs. With a spare, another
 * task runs meanwhile.
 */
static int waits_with(uint32_t spares)
{
	drover_poolattr_t attr = { .workers = 1, .spares = spares };
	drover_task_t first, held, waits, other;
	int result = -1, before;
	pthread_t thread;

	if (drover_pool_create(&pool, &attr))
		tap_bail("no pool");
	begin(&first, &first_gate);
	before = atomic_load(&nr_begun);
	begin(&held, &held_gate);
	if (pthread_create(&thread, NULL, run_held, &held) ||
	    wait_at_least(&nr_begun, before + 1))
		tap_bail("no thread");
	atomic_store(&tid, 0);
	drover_task_init(&waits, wait_for, &held);
	drover_pool_submit(pool, &waits);
	refuse = spares == 2;
	atomic_store(&first_gate, 1);
	if (wait_at_least(&tid, 1))
		tap_bail("the worker does not come to the wait");
	if (spares == 1) {
		begin(&other, &first_gate);
		atomic_store(&first_gate, 1);
		atomic_store(&held_gate, 1);
	}
	drover_pool_wait_all(pool);
	pthread_join(thread, NULL);
	drover_pool_wait(pool, &waits, &result);
	refuse = false;
	pool_end(pool, DROVER_POOL_DRAIN);
	return result;
}

static void test_last(void)
{
	watchdog("the last worker");
	tap_is(waits_with(1), 0, "a spare takes the place of who waits");
	tap_is(waits_with(DROVER_POOL_NO_SPARES), EAGAIN,
	       "without one the last worker is told");
	tap_is(waits_with(2), EAGAIN, "and if the system refuses it");
}

/* ---- in a child ---- */

static int run_slowly(void *arg)
{
	(void)arg;
	return wait_blocked(getpid(), atomic_load(&tid), NULL);
}

/* A child that a worker made is no worker: its waits cost the pool nothing. */
static int fork_and_wait(void *arg)
{
	drover_task_t slow = DROVER_TASK_INITIALIZER(run_slowly, NULL);
	struct timespec never = { .tv_sec = INT32_MAX };
	drover_poolstats_t before, after;
	drover_pool_t *own;
	sigset_t none;
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		sigemptyset(&none);
		pthread_sigmask(SIG_SETMASK, &none, NULL);
		watchdog("in the child");
		drover_pool_stats(arg, &before);
		atomic_store(&tid, blocked_gettid());
		own = pool_of(1);
		drover_pool_submit(own, &slow);
		drover_pool_clockwait(own, &slow, CLOCK_REALTIME, &never, NULL);
		drover_pool_stats(arg, &after);
		_exit(before.threads != after.threads);
	}
	waitpid(child, &status, 0);
	return status;
}

static void test_child(void)
{
	drover_task_t task;
	int result = -1;

	if (!fork_threads_work()) {
		tap_skip("a child with threads", FORK_THREADS_SKIP);
		return;
	}
	pool = pool_of(1);
	drover_task_init(&task, fork_and_wait, pool);
	drover_pool_submit(pool, &task);
	drover_pool_wait_all(pool);
	drover_pool_wait(pool, &task, &result);
	tap_is(result, 0, "the child of a worker is none");
	pool_end(pool, DROVER_POOL_DRAIN);
}

/* ---- resize ---- */

static int be_inside(void *gate)
{
	int nr = atomic_fetch_add(&nr_inside, 1) + 1;

	if (nr > atomic_load(&nr_most))
		atomic_store(&nr_most, nr);
	wait_at_least(gate, nr);
	atomic_fetch_sub(&nr_inside, 1);
	return 0;
}

static int nap(void *arg)
{
	(void)arg;
	return be_inside(&held_gate);
}

/* How many of many tasks run at a time at most. */
static int most_at_a_time(void)
{
	atomic_store(&nr_most, 0);
	for (int i = 0; i < 200; i++)
		drover_pool_post(pool, nap, NULL);
	drover_pool_wait_all(pool);
	return atomic_load(&nr_most);
}

static void test_resize(void)
{
	drover_poolstats_t stats;

	watchdog("resize");
	pool = pool_of(1);
	atomic_store(&held_gate, 1000);
	tap_is(drover_pool_resize(pool, 4), 0, "grow");
	atomic_store(&first_gate, 0);
	atomic_store(&nr_begun, 0);
	for (int i = 0; i < 4; i++)
		drover_pool_post(pool, hold, &first_gate);
	tap_is(wait_at_least(&nr_begun, 4), 0, "to four at a time");
	tap_is(drover_pool_resize(pool, 1), 0, "shrink");
	atomic_store(&first_gate, 1);
	drover_pool_wait_all(pool);
	await_sleep(4);
	tap_is(most_at_a_time(), 1, "to one at a time");
	drover_pool_stats(pool, &stats);
	tap_is(stats.workers, 1, "stats: workers");
	refuse = true;
	tap_is(drover_pool_resize(pool, 8), EAGAIN, "no more threads");
	refuse = false;
	tap_is(drover_pool_resize(pool, DROVER_POOL_MAX + 1), EINVAL,
	       "too many");
	tap_is(drover_pool_resize(pool, 0), 0, "as many as CPUs");
	drover_pool_shutdown(pool, DROVER_POOL_DRAIN);
	tap_is(drover_pool_resize(pool, 9), ESHUTDOWN, "after the end");
	drover_pool_free(pool);
}

int main(void)
{
	tap_plan(3 + 1 + 9);
	test_last();
	test_child();
	test_resize();
	return tap_exit();
}
