// SPDX-License-Identifier: GPL-2.0-only
/*
 * A gang has as many threads as the loop says, all at the same time, each with
 * its share of the range, so that they may meet at a barrier. If the pool
 * cannot have so many threads, the call returns an error. No other gang gets
 * the workers of a gang, and neither a smaller pool nor a wait nor a shutdown
 * takes them away.
 */
#include <drover/barrier.h>

#include "tasks.h"

#define NR	  10
#define NR_PHASES 1000
#define NR_ROUNDS 300

static drover_barrier_t barrier;
static atomic_int marks[NR], nr_wrong, nr_in, nr_refused, over;
static int nr_phases;

/* Each thread marks its share, and meets the others in each phase. */
static int meet(size_t begin, size_t end, const drover_part_t *part, void *arg)
{
	nr_in++;
	nr_wrong += end - begin > NR / part->threads + 1;
	for (size_t i = begin; i < end; i++) {
		marks[i]++;
		++*(int *)part->scratch;
	}
	for (int i = 0; i < nr_phases; i++)
		nr_wrong += drover_barrier_wait(&barrier) > 0;
	return arg ? (int)part->thread + 1 : 0;
}

static void join(void *total, const void *scratch, void *arg)
{
	*(int *)total += *(const int *)scratch;
}

/* All NR indices in a gang of @nr threads. Return: the loop's result. */
static int gang_of(unsigned int nr, int phases)
{
	int total = 0, err;
	drover_loop_t loop = { .function = meet,
			       .threads = nr,
			       .gang = 1,
			       .scratch = sizeof(total),
			       .total = &total,
			       .join = join };

	nr_phases = phases;
	nr_in = 0;
	memset(marks, 0, sizeof(marks));
	drover_barrier_init(&barrier, nr, NULL);
	err = drover_pool_loop(pool, 0, NR, &loop);
	drover_barrier_destroy(&barrier);
	for (int i = 0; i < NR; i++)
		nr_wrong += marks[i] != !err;
	nr_wrong += total != (err ? 0 : NR) || nr_in != (err ? 0 : (int)nr);
	return err;
}

static int gang_in_task(void *nr)
{
	return gang_of((intptr_t)nr, 1);
}

static int told_in_task(intptr_t nr)
{
	drover_task_t task;

	submit(&task, gang_in_task, (void *)nr);
	drover_pool_wait_all(pool);
	return result_of(&task);
}

static void test_sizes(void)
{
	drover_loop_t loop = { .function = meet, .gang = 1 };

	watchdog("sizes");
	begin(2);
	IS(EAGAIN, gang_of(4, 1));
	IS(EAGAIN, gang_of(UINT32_MAX, 1));
	IS(0, gang_of(3, 1));
	IS(0, gang_of(1, 1));
	/* In a task, one of the two workers is the caller. */
	IS(EAGAIN, told_in_task(3));
	IS(0, told_in_task(2));
	tap_is(drover_pool_loop(pool, 0, NR, &loop), EINVAL,
	       "a gang without a number of threads");
	end();
	/* The pool has threads enough, but only two may run. */
	begin(4);
	MUST(drover_pool_resize(pool, 2));
	IS(EAGAIN, gang_of(4, 1));
	end();
	begin(2 * NR);
	IS(0, gang_of(2 * NR, 1));
	tap_is(nr_wrong, 0, "each thread has one share, which may be empty");
	end();
}

/* A section whose threads stay from one parallel part to the next */
static void test_section(void)
{
	uint64_t before;

	watchdog("a section");
	begin(2);
	before = stats_of(pool).wakes;
	IS(0, gang_of(3, NR_PHASES));
	tap_ok(stats_of(pool).wakes <= before + 2,
	       "%d parallel parts, and each worker is woken once", NR_PHASES);
	drover_pool_shutdown(pool, DROVER_POOL_DRAIN);
	IS(ESHUTDOWN, gang_of(2, 1));
	drover_pool_free(pool);
}

static int fail_all(size_t begin, size_t end, const drover_part_t *part,
		    void *arg)
{
	nr_in++;
	return 7;
}

static void test_errors(void)
{
	drover_loop_t loop = { .function = fail_all, .threads = 3, .gang = 1 };

	watchdog("errors");
	begin(2);
	nr_in = 0;
	for (int i = 0; i < NR_ROUNDS; i++)
		nr_wrong += drover_pool_loop(pool, 0, NR, &loop) != 7;
	tap_ok(nr_in == 3 * NR_ROUNDS && !nr_wrong,
	       "each share runs, though others have returned errors");
	end();
}

/* Several gangs at a time, with barriers of their own */

static int meet_here(size_t begin, size_t end, const drover_part_t *part,
		     void *of)
{
	nr_wrong += drover_barrier_wait(of) > 0;
	return 0;
}

static void *many_gangs(void *arg)
{
	drover_barrier_t here;
	drover_loop_t loop = {
		.function = meet_here, .arg = &here, .threads = 3, .gang = 1
	};
	int err;

	for (int i = 0; i < NR_ROUNDS; i++) {
		drover_barrier_init(&here, 3, NULL);
		while ((err = drover_pool_loop(pool, 0, 3, &loop)) == EAGAIN) {
			nr_refused++;
			sched_yield();
		}
		nr_wrong += err != 0;
		drover_barrier_destroy(&here);
	}
	return arg;
}

static void test_together(int nr_workers)
{
	watchdog("gangs together");
	begin(nr_workers);
	nr_refused = 0;
	run_threads(3, many_gangs);
	tap_ok(!nr_wrong && (nr_workers < 6 || !nr_refused),
	       "three gangs with %d workers, EAGAIN %d times", nr_workers,
	       nr_refused);
	end();
}

/* ---- calls that would take away the workers for which a gang waits ---- */

static int gang_told;

static void *gang_of_three(void *arg)
{
	gang_told = gang_of(3, 1);
	over = 1;
	return arg;
}

/* A gang has begun, and its workers still run two tasks. */
static pthread_t begin_gang(drover_task_t *tasks)
{
	pthread_t thread;

	over = nr_in = 0;
	submit_held(&tasks[0]);
	submit_held(&tasks[1]);
	thread = thread_of(gang_of_three, NULL);
	reached(&nr_in, 1);
	return thread;
}

static void *cancel_all(void *tid)
{
	*(atomic_int *)tid = blocked_gettid();
	drover_pool_shutdown(pool, DROVER_POOL_CANCEL);
	return NULL;
}

static void test_taken(void)
{
	drover_task_t tasks[2];
	pthread_t gang, cancels;

	watchdog("a smaller pool");
	begin(2);
	gang = begin_gang(tasks);
	MUST(drover_pool_resize(pool, 1));
	gate = 1;
	joined(gang);
	tap_is(gang_told, 0, "a resize to fewer workers does not stop a gang");
	tap_is(stats_of(pool).workers, 1,
	       "the pool has fewer workers after the gang");
	end();

	watchdog("a shutdown");
	begin(2);
	gang = begin_gang(tasks);
	cancels = thread_of(cancel_all, &sleeper);
	reached(&sleeper, 1);
	/* The thread that cancels waits for all, or runs a share first. */
	asleep(sleeper);
	gate = 1;
	joined(gang);
	joined(cancels);
	tap_is(gang_told, 0, "a shutdown that cancels does not stop a gang");
	drover_pool_free(pool);
}

static int until_gang_is_over(void *arg)
{
	nr_begun++;
	reached(&over, 1);
	return 0;
}

static int wait_when_opened(void *task)
{
	nr_begun++;
	reached(&gate, 1);
	return drover_pool_wait(pool, task, NULL);
}

/*
 * A worker for which a gang waits would wait for a task that waits for the
 * gang.
 */
static void test_wait(void)
{
	drover_task_t late, waits, held;
	pthread_t gang, by;

	watchdog("a wait");
	begin_with((drover_poolattr_t){ .workers = 2,
					.spares = DROVER_POOL_NO_SPARES });
	over = nr_in = 0;
	submit_held(&held);
	submit(&waits, wait_when_opened, &late);
	reached(&nr_begun, 2);
	submit(&late, until_gang_is_over, NULL);
	by = thread_of(wait_in_thread, &late);
	reached(&nr_begun, 3);
	gang = thread_of(gang_of_three, NULL);
	reached(&nr_in, 1);
	gate = 1;
	joined(gang);
	joined(by);
	tap_is(gang_told, 0, "a gang gets a worker that would wait for it");
	tap_is(result_of(&waits), EAGAIN, "that worker's wait returns EAGAIN");
	end();
}

int main(void)
{
	tap_plan(10 + 3 + 1 + 2 + 3 + 2 + 1);
	test_sizes();
	test_section();
	test_errors();
	test_together(2);
	test_together(6);
	test_taken();
	test_wait();
	tap_is(nr_wrong, 0, "all shares are right");
	return tap_exit();
}
