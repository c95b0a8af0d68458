// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loops whose threads have numbers and memory of their own: no two have the same
 * at a time, sums come out, and without memory nothing has run, or all of it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "blocked.h"
#include "blocks.h"
#include "tap.h"

#define NR	   20000
#define NR_WORKERS 3
#define NR_MANY	   70
#define SUM	   ((uint64_t)NR * (NR - 1) / 2)

static drover_pool_t *pool;
static atomic_int busy[NR_MANY + 1], nr_wrong, nr_parts;
static bool no_memory;

/* What the library calls: the program's comes before the C library's. */
void *aligned_alloc(size_t alignment, size_t bytes)
{
	void *memory;

	if (no_memory || posix_memalign(&memory, alignment, bytes))
		return NULL;
	return memory;
}

static int add(size_t begin, size_t end, const drover_part_t *part, void *arg)
{
	uint64_t *sum = part->scratch;

	nr_wrong += part->threads > *(unsigned int *)arg ||
		    part->thread >= part->threads ||
		    atomic_exchange(&busy[part->thread], 1) ||
		    (uintptr_t)sum % 64;
	for (; begin < end; begin++)
		*sum += begin;
	atomic_store(&busy[part->thread], 0);
	return 0;
}

static void join(void *total, const void *scratch, void *arg)
{
	(void)arg;
	*(uint64_t *)total += *(const uint64_t *)scratch;
}

static uint64_t sum_of(unsigned int threads, int *err)
{
	unsigned int most = threads ? threads : NR_WORKERS + 1;
	uint64_t total = 0;
	drover_loop_t loop = { .function = add,
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
	int err, nr_errors = 0;

	for (unsigned int threads = 0; threads < NR_WORKERS + 3; threads++) {
		uint64_t sum = sum_of(threads, &err);

		nr_errors += err != 0;
		tap_ok(sum == SUM, "sum by %u threads", threads);
	}
	tap_is(nr_errors, 0, "no errors");
	tap_is(atomic_load(&nr_wrong), 0, "each thread has its own number");
}

static void test_answers(void)
{
	unsigned int most = 1;
	drover_loop_t loop = { .function = add, .arg = &most, .join = join };
	int err;

	tap_is(drover_pool_loop(pool, 0, 1, &loop), EINVAL,
	       "a join without a total");
	loop = (drover_loop_t){ .arg = &most };
	tap_is(drover_pool_loop(pool, 0, 1, &loop), EINVAL, "no function");
	no_memory = true;
	tap_is(sum_of(0, &err), 0, "without memory no part runs");
	no_memory = false;
	tap_is(err, ENOMEM, "and it is told");
}

static int count(size_t begin, size_t end, void *arg)
{
	(void)begin;
	(void)end;
	(void)arg;
	atomic_fetch_add(&nr_parts, 1);
	return 0;
}

static void test_many(void)
{
	pool = pool_of(NR_MANY);
	no_memory = true;
	tap_is(drover_pool_for(pool, 0, 1000, 1, count, NULL), 0,
	       "many workers, without memory");
	no_memory = false;
	tap_is(atomic_load(&nr_parts), 1000, "run all parts");
	pool_end(pool, DROVER_POOL_DRAIN);
}

int main(void)
{
	watchdog("loops with numbers");
	tap_plan(NR_WORKERS + 3 + 2 + 4 + 2);
	pool = pool_of(NR_WORKERS);
	test_sums();
	test_answers();
	pool_end(pool, DROVER_POOL_DRAIN);
	test_many();
	return tap_exit();
}
