// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nothing waits for ever: while each worker has a task that submits itself again,
 * what others submit begins before the worker has taken so many tasks as
 * lib/pool/worker.c says, and so does what lies in a worker's own queue.
 */
#include "tasks.h"

#define NR_WORKERS  2
#define NR_INJECTED 16
#define FAIR_EVERY  61

static _Atomic uint64_t nr_reposts;
static uint64_t ended_at[NR_INJECTED];
static drover_task_t old_one;
static atomic_int old_ended;

static int repost(void *begun)
{
	if (!atomic_exchange((atomic_int *)begun, 1))
		nr_begun++;
	nr_reposts++;
	return gate ? 0 : drover_pool_post(pool, repost, begun);
}

static int end_injected(void *arg)
{
	ended_at[(intptr_t)arg] = nr_reposts;
	return count(arg);
}

static int end_old(void *arg)
{
	old_ended = 1;
	return 0;
}

/* Submits "old_one" to its own queue, then tasks that are newer for ever. */
static int begin_old(void *begun)
{
	submit(&old_one, end_old, NULL);
	return repost(begun);
}

static void begin_reposts(atomic_int *begun, int (*function)(void *arg))
{
	begin(NR_WORKERS);
	for (int i = 0; i < NR_WORKERS; i++) {
		begun[i] = 0;
		drover_pool_post(pool, i ? repost : function, &begun[i]);
	}
	reached(&nr_begun, NR_WORKERS);
}

static void test_injected(void)
{
	atomic_int begun[NR_WORKERS];
	uint64_t first, most;

	watchdog("injected tasks");
	begin_reposts(begun, repost);
	first = nr_reposts;
	for (intptr_t i = 0; i < NR_INJECTED; i++)
		drover_pool_post(pool, end_injected, (void *)i);
	most = nr_reposts - first;
	reached(&nr_run, NR_INJECTED);
	tap_ok(true, "injected tasks run");
	/* From the end of submitting; the last one has all others before it. */
	most += (uint64_t)NR_WORKERS * FAIR_EVERY * (NR_INJECTED + 1);
	first = ended_at[NR_INJECTED - 1] - first;
	tap_diag("after %lu tasks, at most %lu", first, most);
	tap_ok(first <= most, "after as few others as is promised");
	gate = 1;
	end();
}

static void test_own(void)
{
	atomic_int begun[NR_WORKERS];

	watchdog("a worker's own queue");
	begin_reposts(begun, begin_old);
	reached(&old_ended, 1);
	tap_ok(true, "the oldest of a worker's own queue runs");
	gate = 1;
	end();
}

int main(void)
{
	tap_plan(3);
	test_injected();
	test_own();
	return tap_exit();
}
