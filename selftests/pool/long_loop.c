// SPDX-License-Identifier: GPL-2.0-only
/*
 * A loop that takes long gets all workers, though there may be more of them than
 * CPUs: its last parts wait until each worker and the caller has one.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "blocks.h"
#include "tap.h"

/* More than fit on a stack. */
#define NR_WORKERS 70
#define NR_FIRST   100
#define LONG_NS	   2000000

static pthread_t caller;
static atomic_int caller_ran, nr_inside;

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static void await(atomic_int *count, int nr)
{
	while (atomic_load(count) < nr)
		sched_yield();
}

/* Workers wait for the caller, so it has one of the first parts. */
static void first_part(void)
{
	int64_t end = now_ns() + LONG_NS;

	if (!pthread_equal(pthread_self(), caller)) {
		await(&caller_ran, 1);
		return;
	}
	while (now_ns() < end)
		;
	atomic_store(&caller_ran, 1);
}

static int part(size_t begin, size_t end, void *arg)
{
	(void)end;
	(void)arg;
	if (begin < NR_FIRST) {
		first_part();
		return 0;
	}
	atomic_fetch_add(&nr_inside, 1);
	await(&nr_inside, NR_WORKERS + 1);
	return 0;
}

int main(void)
{
	drover_pool_t *pool;

	tap_plan(1);
	watchdog("a long loop");
	caller = pthread_self();
	pool = pool_of(NR_WORKERS);
	tap_is(drover_pool_for(pool, 0, NR_FIRST + NR_WORKERS + 1, 1, part,
			       NULL),
	       0, "all workers take part");
	pool_end(pool, DROVER_POOL_DRAIN);
	return tap_exit();
}
