// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loops: each index is visited once, errors are returned, and loops may be
 * nested. Each thread has a number and memory that no other thread has at the
 * same time, and sums are right. As many threads take part as the caller asks
 * for, even if there are fewer CPUs.
 */
#include "tasks.h"

#define NR	   10000
#define NR_WORKERS 3
#define NR_MANY	   70

static const struct range {
	size_t begin, end, grain;
	unsigned int threads;
} ranges[] = {
	{ 0, NR, 0, 0 }, { 0, NR, 1, 0 }, { 0, NR, 7, 1 }, { 0, NR, 7, 2 },
	{ 0, NR, 7, 3 }, { 0, NR, 7, 4 }, { 0, NR, 7, 5 }, { 0, NR, NR + 1, 0 },
	{ 3, 4, 0, 0 },	 { 5, 5, 0, 0 },  { 9, 2, 0, 0 },
};

static int marks[NR];
static atomic_int nr_parts, busy[NR_WORKERS + 2], nr_wrong;
static atomic_size_t longest;

static int mark(size_t begin, size_t end, void *arg)
{
	if (end - begin > longest)
		longest = end - begin;
	for (size_t i = begin; i < end; i++)
		marks[i]++;
	return 0;
}

/* The same with the thread's own sum, and a number that no other thread has. */
static int mark_and_add(size_t begin, size_t end, const drover_part_t *part,
			void *range)
{
	unsigned int most = ((const struct range *)range)->threads;
	uint64_t *sum = part->scratch;

	nr_wrong += part->threads > (most ? most : NR_WORKERS + 1) ||
		    part->thread >= part->threads ||
		    atomic_exchange(&busy[part->thread], 1) ||
		    (uintptr_t)sum % 64;
	for (size_t i = begin; i < end; i++)
		*sum += i;
	busy[part->thread] = 0;
	return mark(begin, end, NULL);
}

static void join(void *total, const void *scratch, void *arg)
{
	*(uint64_t *)total += *(const uint64_t *)scratch;
}

static void test_range(const struct range *r)
{
	uint64_t total = 0, sum = 0;
	drover_loop_t loop = { .function = mark_and_add,
			       .arg = (void *)r,
			       .grain = r->grain,
			       .threads = r->threads,
			       .scratch = sizeof(total),
			       .total = &total,
			       .join = join };
	int wrong = 0;

	nr_wrong = 0;
	memset(marks, 0, sizeof(marks));
	wrong += drover_pool_for(pool, r->begin, r->end, r->grain, mark, NULL);
	wrong += drover_pool_loop(pool, r->begin, r->end, &loop);
	for (size_t i = 0; i < NR; i++) {
		bool inside = i >= r->begin && i < r->end;

		sum += inside ? i : 0;
		wrong += marks[i] != 2 * inside;
	}
	tap_ok(!wrong && !nr_wrong && total == sum,
	       "%zu to %zu by %zu, %u threads: each index once", r->begin,
	       r->end, r->grain, r->threads);
}

static int fail_at_77(size_t begin, size_t end, void *arg)
{
	return begin <= 77 && 77 < end ? 4711 : 0;
}

static void test_ranges(void)
{
	const struct range all = { 0, NR, 9, 0 };
	drover_loop_t loop = { .join = join };

	begin(NR_WORKERS);
	for (int i = 0; i < NR_OF(ranges); i++)
		test_range(&ranges[i]);
	IS(EINVAL, drover_pool_for(pool, 0, 9, 1, NULL, NULL));
	tap_is(drover_pool_loop(pool, 0, 1, &loop), EINVAL,
	       "a loop without a function");
	loop.function = mark_and_add;
	tap_is(drover_pool_loop(pool, 0, 1, &loop), EINVAL,
	       "a join without a total");
	tap_is(drover_pool_for(pool, 0, 100000, 1, fail_at_77, NULL), 4711,
	       "an error is returned");
	tap_is(drover_pool_for(pool, SIZE_MAX - 10, SIZE_MAX, 3, fail_at_77,
			       NULL),
	       0, "a range up to the largest number");
	end();
	begin(1);
	drover_pool_shutdown(pool, DROVER_POOL_CANCEL);
	longest = 0;
	test_range(&all);
	tap_is(longest, 9, "parts are no longer than the grain");
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
	nr_wrong += drover_pool_for(pool, 0, 20, 1, loop_in_loop, arg) != 0;
	return NULL;
}

static void test_nested(void)
{
	begin(2);
	run_threads(4, loop_in_thread);
	tap_ok(!nr_wrong && nr_parts == 4 * 20 * 100,
	       "loops in loops of several threads");
	end();
}

/* Each part waits until all threads have a part. */
static int meet(size_t begin, size_t end, const drover_part_t *part, void *arg)
{
	nr_begun++;
	reached(&nr_begun, NR_MANY + 1);
	return 0;
}

int main(void)
{
	const drover_loop_t of_many = { .function = meet,
					.grain = 1,
					.threads = NR_MANY + 1 };

	watchdog("loops");
	tap_plan(NR_OF(ranges) + 5 + 2 + 1 + 1);
	test_ranges();
	test_nested();
	watchdog("many workers");
	begin(NR_MANY);
	tap_is(drover_pool_loop(pool, 0, NR_MANY + 1, &of_many), 0,
	       "as many threads take part as the loop says");
	end();
	return tap_exit();
}
