// SPDX-License-Identifier: GPL-2.0-only
/*
 * A debug build says what a caller does wrong with a barrier, and aborts: no
 * barrier, one that was destroyed, one with threads that wait, destroyed.
 */
#include <drover/barrier.h>

#include "blocked.h"
#include "sandbox.h"

static drover_barrier_t barrier;
static atomic_int tid;

/* Read where the compiler does not look. */
static void *volatile no_memory;

static void *wait_for_ever(void *arg)
{
	tid = blocked_gettid();
	drover_barrier_wait(&barrier);
	return arg;
}

static void with_sleeper(unsigned int count)
{
	drover_barrier_init(&barrier, count, NULL);
	thread_of(wait_for_ever, NULL);
	reached(&tid, 1);
	asleep(tid);
}

static void destroy_pair(void)
{
	with_sleeper(2);
	drover_barrier_destroy(&barrier);
}

static void destroy_more(void)
{
	with_sleeper(3);
	drover_barrier_destroy(&barrier);
}

static void destroy_twice(void)
{
	drover_barrier_init(&barrier, 2, NULL);
	drover_barrier_destroy(&barrier);
	drover_barrier_destroy(&barrier);
}

static void wait_at_none(void)
{
	drover_barrier_wait(&barrier);
}

static void arrive_at_none(void)
{
	drover_barrier_arrive(&barrier, 1, NULL);
}

static void drop_from_none(void)
{
	drover_barrier_arrive_and_drop(&barrier);
}

static void count_none(void)
{
	drover_barrier_set_count(&barrier, 2);
}

static void wait_at_null(void)
{
	drover_barrier_wait(no_memory);
}

static void wait_unaligned(void)
{
	drover_barrier_wait((drover_barrier_t *)((char *)&barrier + 1));
}

static const struct misuse misuses[] = {
	{ NULL, destroy_pair, "drover_barrier_destroy(): barrier" },
	{ NULL, destroy_pair, "has threads waiting" },
	{ NULL, destroy_more, "has threads waiting" },
	{ NULL, destroy_twice, "was never initialised, or is destroyed" },
	{ NULL, wait_at_none, "drover_barrier_wait(): barrier" },
	{ NULL, wait_at_none, "was never initialised, or is destroyed" },
	{ NULL, arrive_at_none, "was never initialised, or is destroyed" },
	{ NULL, drop_from_none, "was never initialised, or is destroyed" },
	{ NULL, count_none, "was never initialised, or is destroyed" },
	{ NULL, wait_at_null, "is NULL" },
	{ NULL, wait_unaligned, "is not aligned" },
};

#define NR_MISUSES ((int)(sizeof(misuses) / sizeof(misuses[0])))

int main(void)
{
	tap_plan(NR_MISUSES);
	watchdog("bad input");
	for (int i = 0; i < NR_MISUSES; i++)
		misuse_test(&misuses[i]);
	return tap_exit();
}
