// SPDX-License-Identifier: GPL-2.0-only
/* drover_pool_for: each index once, errors come back, loops in loops. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "blocks.h"
#include "tap.h"

#define NR 10000

static drover_pool_t *pool;
static int marks[NR];
static atomic_long sum;
static size_t longest;

static int mark(size_t begin, size_t end, void *arg)
{
	(void)arg;
	for (size_t i = begin; i < end; i++)
		marks[i]++;
	return 0;
}

static void test_range(size_t begin, size_t end, size_t grain)
{
	int wrong = 0, err;

	memset(marks, 0, sizeof(marks));
	err = drover_pool_for(pool, begin, end, grain, mark, NULL);
	for (size_t i = 0; i < NR; i++)
		wrong += marks[i] != (i >= begin && i < end);
	tap_ok(!err && !wrong, "%zu to %zu by %zu: each index once", begin, end,
	       grain);
}

static int fail_at_77(size_t begin, size_t end, void *arg)
{
	(void)arg;
	return begin <= 77 && 77 < end ? 4711 : 0;
}

static int note_length(size_t begin, size_t end, void *arg)
{
	(void)arg;
	if (end - begin > longest)
		longest = end - begin;
	return 0;
}

static int add(size_t begin, size_t end, void *arg)
{
	(void)arg;
	atomic_fetch_add(&sum, (long)(end - begin));
	return 0;
}

static int loop_in_loop(size_t begin, size_t end, void *arg)
{
	int err = 0;

	for (size_t i = begin; !err && i < end; i++)
		err = drover_pool_for(pool, 0, 100, 1, add, arg);
	return err;
}

static void *loop_in_thread(void *arg)
{
	loop_in_loop(0, 20, arg);
	return NULL;
}

static void test_nested(void)
{
	pthread_t threads[4];

	atomic_store(&sum, 0);
	tap_is(drover_pool_for(pool, 0, 20, 1, loop_in_loop, NULL), 0,
	       "loops in a loop");
	tap_is(atomic_load(&sum), 2000, "all indices of all");
	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, loop_in_thread, NULL))
			tap_bail("no thread");
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	tap_is(atomic_load(&sum), 10000, "loops of several threads at a time");
}

int main(void)
{
	tap_plan(7 + 4 + 3 + 2);
	watchdog("loops");
	pool = pool_of(3);
	test_range(0, NR, 0);
	test_range(0, NR, 1);
	test_range(0, NR, 7);
	test_range(0, NR, NR + 1);
	test_range(3, 4, 0);
	test_range(5, 5, 0);
	test_range(9, 2, 0);
	tap_is(drover_pool_for(pool, 0, 9, 1, NULL, NULL), EINVAL,
	       "no function");
	tap_is(drover_pool_for(pool, 0, 100000, 1, fail_at_77, NULL), 4711,
	       "an error comes back");
	/* At the end of the numbers; the parts are few, and say nothing twice. */
	tap_is(drover_pool_for(pool, SIZE_MAX - 10, SIZE_MAX, 3, fail_at_77,
			       NULL),
	       0, "up to the largest number");
	pool_end(pool, DROVER_POOL_DRAIN);
	pool = pool_of(1);
	drover_pool_shutdown(pool, DROVER_POOL_CANCEL);
	drover_pool_for(pool, 0, 100, 9, note_length, NULL);
	tap_is(longest, 9, "parts are as long as the grain, no longer");
	test_range(0, NR, 0);
	test_range(0, NR, 3);
	drover_pool_free(pool);
	pool = pool_of(2);
	test_nested();
	pool_end(pool, DROVER_POOL_DRAIN);
	return tap_exit();
}
