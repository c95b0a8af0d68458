// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loops: each index once, errors come back, loops in loops. Threads have numbers
 * and memory of their own, and no two have the same at a time; sums come out. As many
 * take part as one asks for, though there may be fewer CPUs.
 */
#include "tasks.h"

#define NR	   10000
#define NR_WORKERS 3
#define SUM	   ((uint64_t)NR * (NR - 1) / 2)
#define NR_MANY	   70

static int marks[NR];
static atomic_int nr_parts, busy[NR_MANY + 1], nr_wrong;
static size_t longest;

static int mark(size_t begin, size_t end, void *arg)
{
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
	return begin <= 77 && 77 < end ? 4711 : 0;
}

static int note_length(size_t begin, size_t end, void *arg)
{
	if (end - begin > longest)
		longest = end - begin;
	return 0;
}

static void test_ranges(void)
{
	static const size_t ranges[][3] = {
		{ 0, NR, 0 }, { 0, NR, 1 }, { 0, NR, 7 }, { 0, NR, NR + 1 },
		{ 3, 4, 0 },  { 5, 5, 0 },  { 9, 2, 0 },
	};

	begin(NR_WORKERS);
	for (int i = 0; i < 7; i++)
		test_range(ranges[i][0], ranges[i][1], ranges[i][2]);
	IS(EINVAL, drover_pool_for(pool, 0, 9, 1, NULL, NULL));
	tap_is(drover_pool_for(pool, 0, 100000, 1, fail_at_77, NULL), 4711,
	       "an error comes back");
	tap_is(drover_pool_for(pool, SIZE_MAX - 10, SIZE_MAX, 3, fail_at_77,
			       NULL),
	       0, "up to the largest number");
	end();
	begin(1);
	drover_pool_shutdown(pool, DROVER_POOL_CANCEL);
	drover_pool_for(pool, 0, 100, 9, note_length, NULL);
	tap_is(longest, 9, "parts are as long as the grain, no longer");
	test_range(0, NR, 3);
	drover_pool_free(pool);
}

static int add(size_t begin, size_t end, void *arg)
{
	nr_parts += end - begin;
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

	begin(2);
	tap_is(drover_pool_for(pool, 0, 20, 1, loop_in_loop, NULL), 0,
	       "loops in a loop");
	tap_is(nr_parts, 2000, "all indices of all");
	for (int i = 0; i < 4; i++)
		start_thread(&threads[i], loop_in_thread, NULL);
	for (int i = 0; i < 4; i++)
		joined(threads[i]);
	tap_is(nr_parts, 10000, "loops of several threads at a time");
	end();
}

static int add_own(size_t begin, size_t end, const drover_part_t *part,
		   void *arg)
{
	uint64_t *sum = part->scratch;

	nr_wrong += part->threads > *(unsigned int *)arg ||
		    part->thread >= part->threads ||
		    atomic_exchange(&busy[part->thread], 1) ||
		    (uintptr_t)sum % 64;
	for (; begin < end; begin++)
		*sum += begin;
	busy[part->thread] = 0;
	return 0;
}

static void join(void *total, const void *scratch, void *arg)
{
	*(uint64_t *)total += *(const uint64_t *)scratch;
}

static uint64_t sum_of(unsigned int threads, int *err)
{
	unsigned int most = threads ? threads : NR_WORKERS + 1;
	uint64_t total = 0;
	drover_loop_t loop = { .function = add_own,
			       .arg = &most,
			       .grain = 7,
			       .threads = threads,
			       .scratch = sizeof(total),
			       .total = &total,
			       .join = join };

	*err = drover_pool_loop(pool, 0, NR, &loop);
	return total;
}

static void test_sums(void)
{
	unsigned int most = 1;
	drover_loop_t loop = { .function = add_own,
			       .arg = &most,
			       .join = join };
	int err, nr_errors = 0;

	begin(NR_WORKERS);
	for (unsigned int threads = 0; threads < NR_WORKERS + 3; threads++) {
		tap_ok(sum_of(threads, &err) == SUM, "sum by %u threads",
		       threads);
		nr_errors += err != 0;
	}
	tap_is(nr_errors, 0, "no errors");
	tap_is(nr_wrong, 0, "each thread has its own number");
	tap_is(drover_pool_loop(pool, 0, 1, &loop), EINVAL,
	       "a join without a total");
	loop = (drover_loop_t){ .arg = &most };
	tap_is(drover_pool_loop(pool, 0, 1, &loop), EINVAL, "no function");
	end();
}

/* Each part waits until all threads have one. */
static int meet(size_t begin, size_t end, const drover_part_t *part, void *arg)
{
	nr_begun++;
	reached(&nr_begun, NR_MANY + 1);
	return 0;
}

static void test_many(void)
{
	const drover_loop_t loop = { .function = meet,
				     .grain = 1,
				     .threads = NR_MANY + 1 };

	watchdog("many workers");
	begin(NR_MANY);
	tap_is(drover_pool_loop(pool, 0, NR_MANY + 1, &loop), 0,
	       "as many take part as it says");
	end();
}

int main(void)
{
	watchdog("loops");
	tap_plan(10 + 2 + 3 + NR_WORKERS + 3 + 4 + 1);
	test_ranges();
	test_nested();
	test_sums();
	test_many();
	return tap_exit();
}
