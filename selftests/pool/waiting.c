// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread that waits for a task runs that one, or none; a worker that sleeps so
 * gives its place to another. Each part hangs where a waiting worker runs what it
 * finds on top of its own task, or keeps its place.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "blocked.h"
#include "blocks.h"
#include "tap.h"

static drover_pool_t *pool, *other_pool;
static atomic_int gate, may_wait, nr_begun, nr_met, waiter_tid, waiter_done;
static drover_task_t held, waiting, late;

static void await(atomic_int *count, int value)
{
	if (wait_at_least(count, value))
		tap_bail("a task does not begin");
}

static int hold(void *arg)
{
	(void)arg;
	atomic_fetch_add(&nr_begun, 1);
	await(&gate, 1);
	return 0;
}

/* Says who it is, then waits for the task @arg. */
static int wait_for(void *arg)
{
	int err;

	atomic_store(&waiter_tid, blocked_gettid());
	await(&may_wait, 1);
	err = drover_pool_wait(pool, arg, NULL);
	atomic_store(&waiter_done, 1);
	return err;
}

/* "held" runs, and "waiting" is to wait for it, each in a worker. */
static void begin(void)
{
	atomic_store(&gate, 0);
	atomic_store(&may_wait, 0);
	atomic_store(&nr_begun, 0);
	atomic_store(&waiter_tid, 0);
	atomic_store(&waiter_done, 0);
	drover_task_init(&held, hold, NULL);
	drover_task_init(&waiting, wait_for, &held);
	if (drover_pool_submit(pool, &held))
		tap_bail("submit");
	await(&nr_begun, 1);
	if (drover_pool_submit(pool, &waiting))
		tap_bail("submit");
	await(&waiter_tid, 1);
}

/* "waiting" sleeps until "held" ends. */
static void let_wait(void)
{
	atomic_store(&may_wait, 1);
	if (wait_blocked(getpid(), atomic_load(&waiter_tid), NULL))
		tap_bail("the worker does not block");
}

static int count_and_wait(void *arg)
{
	atomic_fetch_add(&nr_begun, 1);
	return drover_pool_wait(pool, arg, NULL);
}

/* "late" waits for "waiting", which waits for "held". */
static void test_chain(void)
{
	watchdog("a chain of waits");
	pool = pool_of(2);
	begin();
	let_wait();
	drover_task_init(&late, count_and_wait, &waiting);
	drover_pool_submit(pool, &late);
	await(&nr_begun, 2);
	atomic_store(&gate, 1);
	tap_is(drover_pool_wait_all(pool), 0,
	       "a chain of waits comes to its end");
	pool_end(pool, DROVER_POOL_DRAIN);
}

static int outlast(void *arg)
{
	(void)arg;
	atomic_fetch_add(&nr_begun, 1);
	await(&waiter_done, 1);
	return 0;
}

/* "late" is queued by then, and ends after "waiting". */
static void test_unrelated(void)
{
	watchdog("an unrelated task");
	pool = pool_of(2);
	begin();
	drover_task_init(&late, outlast, NULL);
	drover_pool_submit(pool, &late);
	let_wait();
	await(&nr_begun, 2);
	atomic_store(&gate, 1);
	tap_is(drover_pool_wait_all(pool), 0,
	       "no unrelated task runs on top of one that waits");
	pool_end(pool, DROVER_POOL_DRAIN);
}

/* Two tasks that need each other. */
static int meet(void *arg)
{
	(void)arg;
	atomic_fetch_add(&nr_met, 1);
	await(&nr_met, 2);
	return 0;
}

static void *run_held(void *arg)
{
	drover_pool_wait(arg, &held, NULL);
	return NULL;
}

/*
 * One worker of "pool" has a task that blocks, so that "held" runs in a thread
 * that waits for it. Then each of two workers waits for "held".
 */
static void test_places(void)
{
	drover_task_t waits[2], meets[2];
	pthread_t thread;

	watchdog("places");
	pool = pool_of(1);
	other_pool = pool_of(2);
	atomic_store(&gate, 0);
	atomic_store(&nr_begun, 0);
	atomic_store(&nr_met, 0);
	drover_task_init(&late, hold, NULL);
	drover_task_init(&held, hold, NULL);
	drover_pool_submit(pool, &late);
	await(&nr_begun, 1);
	drover_pool_submit(pool, &held);
	if (pthread_create(&thread, NULL, run_held, pool))
		tap_bail("no thread");
	await(&nr_begun, 2);
	for (int i = 0; i < 2; i++) {
		atomic_store(&waiter_tid, 0);
		drover_task_init(&waits[i], wait_for, &held);
		drover_pool_submit(other_pool, &waits[i]);
		await(&waiter_tid, 1);
		if (wait_blocked(getpid(), atomic_load(&waiter_tid), NULL))
			tap_bail("the worker does not block");
	}
	for (int i = 0; i < 2; i++) {
		drover_task_init(&meets[i], meet, NULL);
		drover_pool_submit(other_pool, &meets[i]);
	}
	await(&nr_met, 2);
	tap_ok(true,
	       "two workers wait for a task of another pool, and two run");
	atomic_store(&gate, 1);
	pthread_join(thread, NULL);
	pool_end(other_pool, DROVER_POOL_DRAIN);
	pool_end(pool, DROVER_POOL_DRAIN);
}

#define NR_CHILDREN 40

/* They run in pairs: each ends when the other one has begun. */
static int run_child(void *arg)
{
	int pair = atomic_fetch_add(&nr_met, 1) / 2;

	(void)arg;
	await(&nr_met, 2 * pair + 2);
	return 0;
}

static int run_parent(void *arg)
{
	drover_task_t children[NR_CHILDREN];
	int nr_wrong = 0;

	(void)arg;
	for (int i = 0; i < NR_CHILDREN; i++)
		drover_task_init(&children[i], run_child, NULL);
	nr_wrong += drover_pool_submit_batch(pool, children, NR_CHILDREN) != 0;
	for (int i = 0; i < NR_CHILDREN; i++)
		nr_wrong += drover_pool_wait(pool, &children[i], NULL) != 0;
	return nr_wrong;
}

static void test_pairs(void)
{
	drover_task_t parent = DROVER_TASK_INITIALIZER(run_parent, NULL);
	int result = -1;

	watchdog("pairs");
	pool = pool_of(2);
	atomic_store(&nr_met, 0);
	drover_pool_submit(pool, &parent);
	drover_pool_wait_all(pool);
	tap_is(drover_pool_wait(pool, &parent, &result), 0,
	       "a task waits for its children, and two run at a time");
	tap_is(result, 0, "and none is lost");
	pool_end(pool, DROVER_POOL_DRAIN);
}

int main(void)
{
	tap_plan(5);
	test_chain();
	test_unrelated();
	test_places();
	test_pairs();
	return tap_exit();
}
