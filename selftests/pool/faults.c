// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory or a thread is refused, once in each place where the library asks for
 * it. The call returns an error and has changed nothing, or makes do with less.
 * Accepted tasks run, no call hangs, and no thread is left behind.
 */
#define REFUSES
#define FAULTS 100 /* more than there are places */
#include "tasks.h"

#define NR	 1000
#define NR_POSTS 3

static atomic_int nr_waits_failed;
static int nr_accepted;

static int wait_till_it_goes(void *task)
{
	int err;

	do
		err = wait_for(task);
	while (err == EAGAIN);
	nr_waits_failed += err != 0;
	return count(NULL);
}

/* A worker waits for a task that the other one runs, so a spare is needed. */
static void waits(void)
{
	drover_task_t held, waiting;

	gate = sleeper = 0;
	submit_held(&held);
	submit(&waiting, wait_till_it_goes, &held);
	reached(&sleeper, 1);
	asleep(sleeper);
	nr_accepted++;
	for (int i = 0; i < NR_POSTS; i++)
		nr_accepted += !drover_pool_post(pool, count, NULL);
	gate = 1;
	drover_pool_wait_all(pool);
}

static int add(size_t begin, size_t end, const drover_part_t *part, void *arg)
{
	*(long *)part->scratch += end - begin;
	return 0;
}

static void join(void *total, const void *scratch, void *arg)
{
	*(long *)total += *(const long *)scratch;
}

static int add_shared(size_t begin, size_t end, void *sum)
{
	*(atomic_long *)sum += end - begin;
	return 0;
}

/* A loop by drover_pool_for() needs no memory, so it cannot fail. */
static bool loops_are_right(void)
{
	long total = 0;
	atomic_long sum = 0;
	drover_loop_t loop = { .function = add,
			       .scratch = sizeof(total),
			       .total = &total,
			       .join = join };
	int err = drover_pool_loop(pool, 0, NR, &loop);

	return (err ? err == ENOMEM && !total : total == NR) &&
	       !drover_pool_for(pool, 0, NR, 1, add_shared, &sum) && sum == NR;
}

/* One life of a pool: was all as it should be? */
static bool life(void)
{
	cpu_set_t all = own_cpus();
	drover_poolattr_t attr = { .workers = 2,
				   .cpu_sets = &all,
				   .nr_cpu_sets = 1 };
	bool right;
	int err;

	nr_run = nr_accepted = 0;
	pool = NULL;
	err = drover_pool_create(&pool, &attr);
	if (err)
		return !pool && (err == ENOMEM || err == EAGAIN);
	waits();
	right = loops_are_right();
	err = drover_pool_resize(pool, 5);
	right &= !err || err == ENOMEM || err == EAGAIN;
	waits();
	right &= nr_run == nr_accepted;
	end();
	return right;
}

int main(void)
{
	tap_plan(3);
	with_each_fault(life);
	tap_is(nr_waits_failed, 0, "no wait failed for good");
	return tap_exit();
}
