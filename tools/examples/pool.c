// SPDX-License-Identifier: MIT
/*
 * Parts of an OpenMP program, by drover_pool_t: "parallel for", a reduction,
 * "parallel" with barriers, tasks and taskwait.
 *
 *	cc pool.c -ldrover -pthread
 */
#include <drover/barrier.h>
#include <drover/pool.h>
#include <stdio.h>
#include <stdlib.h>

#define NR 100000

static drover_pool_t *pool;
static double numbers[NR], mirrored[NR];

/* #pragma omp parallel for */
static int fill(size_t begin, size_t end, void *arg)
{
	(void)arg;
	for (size_t i = begin; i < end; i++)
		numbers[i] = (double)i / 2;
	return 0;
}

/* #pragma omp parallel for reduction(+: total) */
static int add_up(size_t begin, size_t end, const drover_part_t *part,
		  void *arg)
{
	double *sum = part->scratch;

	(void)arg;
	for (size_t i = begin; i < end; i++)
		*sum += numbers[i];
	return 0;
}

static void join(void *total, const void *scratch, void *arg)
{
	(void)arg;
	*(double *)total += *(const double *)scratch;
}

/*
 * #pragma omp parallel, with barriers between its loops. The same threads run
 * both loops, and none of them is woken in between.
 */
static int halve_and_mirror(size_t begin, size_t end, const drover_part_t *part,
			    void *barrier)
{
	(void)part;
	for (size_t i = begin; i < end; i++)
		numbers[i] /= 2;
	drover_barrier_wait(barrier);
	for (size_t i = begin; i < end; i++)
		mirrored[i] = numbers[NR - 1 - i];
	return 0;
}

struct fibonacci {
	int n;
	long result;
};

/* #pragma omp task, #pragma omp taskwait */
static int fibonacci(void *arg)
{
	struct fibonacci *f = arg;
	struct fibonacci less = { .n = f->n - 1 }, least = { .n = f->n - 2 };
	drover_task_t task = DROVER_TASK_INITIALIZER(fibonacci, &less);
	int err;

	if (f->n < 2) {
		f->result = f->n;
		return 0;
	}
	err = drover_pool_submit(pool, &task);
	if (!err) {
		fibonacci(&least);
		err = drover_pool_wait(pool, &task, NULL);
	}
	f->result = less.result + least.result;
	return err;
}

int main(void)
{
	double total = 0;
	drover_loop_t sum = { .function = add_up,
			      .scratch = sizeof(total),
			      .total = &total,
			      .join = join };
	drover_barrier_t barrier = DROVER_BARRIER_INITIALIZER(2);
	drover_loop_t section = { .function = halve_and_mirror,
				  .arg = &barrier,
				  .threads = 2,
				  .gang = 1 };
	struct fibonacci f = { .n = 18 };
	drover_task_t task = DROVER_TASK_INITIALIZER(fibonacci, &f);
	int result = 0;

	if (drover_pool_create(&pool, NULL) ||
	    drover_pool_for(pool, 0, NR, 0, fill, NULL) ||
	    drover_pool_loop(pool, 0, NR, &sum) ||
	    drover_pool_loop(pool, 0, NR, &section) ||
	    drover_pool_submit(pool, &task) ||
	    drover_pool_wait(pool, &task, &result) || result)
		return EXIT_FAILURE;
	drover_pool_shutdown(pool, DROVER_POOL_DRAIN);
	drover_pool_free(pool);
	printf("sum: %.1f, last: %.1f, fibonacci(%d): %ld\n", total,
	       mirrored[0], f.n, f.result);
	return EXIT_SUCCESS;
}
