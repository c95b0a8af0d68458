// SPDX-License-Identifier: GPL-2.0-only
/*
 * No call of a pool is a cancellation point: a thread that was cancelled comes
 * through all of them, those that block and read files included, and is gone
 * afterwards.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "blocked.h"
#include "blocks.h"
#include "tap.h"

static atomic_int gate, tid, nr_through;
static int nr_wrong;

static int hold(void *arg)
{
	(void)arg;
	return wait_at_least(&gate, 1);
}

static int part(size_t begin, size_t end, void *arg)
{
	(void)begin;
	(void)end;
	(void)arg;
	return 0;
}

/* A worker has it: to wait for it blocks. */
static void wait_for_held(drover_pool_t *pool)
{
	drover_task_t held = DROVER_TASK_INITIALIZER(hold, NULL);
	drover_poolstats_t stats;

	nr_wrong += drover_pool_submit(pool, &held) != 0;
	do
		drover_pool_stats(pool, &stats);
	while (drover_pool_cancel(pool, &held) == 0 &&
	       !drover_pool_submit(pool, &held));
	atomic_store(&tid, blocked_gettid());
	nr_wrong += drover_pool_wait(pool, &held, NULL) != 0;
}

static void *run(void *arg)
{
	drover_poolattr_t attr = { .workers = 1 };
	drover_pool_t *pool;

	pthread_cancel(pthread_self());
	if (drover_pool_create(&pool, &attr))
		tap_bail("no pool");
	wait_for_held(pool);
	nr_wrong += drover_pool_post(pool, hold, NULL) != 0;
	nr_wrong += drover_pool_for(pool, 0, 100, 1, part, NULL) != 0;
	nr_wrong += drover_pool_wait_all(pool) != 0;
	nr_wrong += drover_pool_shutdown(pool, DROVER_POOL_DRAIN) != 0;
	nr_wrong += drover_pool_free(pool) != 0;
	atomic_store(&nr_through, 1);
	pthread_testcancel();
	return arg;
}

int main(void)
{
	pthread_t thread;
	void *result;

	if (!FRAMES_MAY_UNWIND)
		return frames_stay();
	watchdog("cancelled");
	tap_plan(3);
	if (pthread_create(&thread, NULL, run, NULL))
		tap_bail("no thread");
	if (wait_at_least(&tid, 1) || wait_blocked(getpid(), tid, NULL))
		tap_bail("it does not block");
	atomic_store(&gate, 1);
	pthread_join(thread, &result);
	tap_is(atomic_load(&nr_through), 1, "it came through all calls");
	tap_is(nr_wrong, 0, "they did what they should");
	tap_ok(result == PTHREAD_CANCELED, "and was cancelled afterwards");
	return tap_exit();
}
