// SPDX-License-Identifier: GPL-2.0-only
/*
 * A chain of queued tasks, each of which waits for the next, needs more stack
 * than the thread has that waits for the first task. The rest of the chain runs
 * on other stacks, as the waiting thread would run it: in its place, and inside
 * the same tasks.
 */
#define REFUSES
#include "tasks.h"

#ifdef __SANITIZE_THREAD__ /* it keeps a megabyte for each thread */
#define NR 10000
#else
#define NR 100000
#endif
#define SMALL (1024 * 1024)

static drover_task_t links[NR + 1];
static drover_pool_t *outer;
static atomic_int nr_wrong, nr_refused;
static atomic_bool refuse;

static bool refuses(bool memory)
{
	return refuse && !memory;
}

/* With a deadline, because such a wait never runs the task. */
static int wait_asleep(drover_task_t *task, int *result)
{
	struct timespec never = { .tv_sec = INT32_MAX };

	return drover_pool_clockwait(pool, task, CLOCK_REALTIME, &never,
				     result);
}

/*
 * Return: how many links follow. If a thread is refused, the wait returns
 * EAGAIN and can be repeated.
 */
static int run_link(void *next)
{
	int result = -1, err = drover_pool_wait(pool, next, &result);

	if (err == EAGAIN) {
		nr_refused++;
		refuse = false;
		err = drover_pool_wait(pool, next, &result);
	}
	nr_wrong += err != 0;
	return result + 1;
}

/*
 * The last link is inside tasks of both pools, and another thread takes its
 * place while it waits.
 */
static int end_of_chain(void *arg)
{
	drover_task_t task;

	nr_wrong += drover_pool_wait_all(pool) != EDEADLK;
	if (outer) {
		nr_wrong += drover_pool_wait_all(outer) != EDEADLK;
		return 0;
	}
	submit(&task, count, NULL);
	nr_wrong += wait_asleep(&task, NULL) != 0;
	return 0;
}

/* All links are queued before the first one begins. */
static void queue_chain(drover_task_t *held)
{
	submit_held(held);
	for (int i = 0; i < NR; i++)
		drover_task_init(&links[i], run_link, &links[i + 1]);
	drover_task_init(&links[NR], end_of_chain, NULL);
	MUST(drover_pool_submit_batch(pool, links, NR + 1));
}

static int wait_for_first(size_t begin, size_t end, void *result)
{
	return drover_pool_wait(pool, &links[0], result);
}

static void test_chain(bool by_worker, size_t stack, bool refused,
		       const char *what)
{
	drover_task_t held;
	int result = -1;

	watchdog(what);
	outer = NULL;
	if (!by_worker) {
		begin(1);
		outer = pool;
	}
	begin_with((drover_poolattr_t){
		.workers = 1, .spares = 1, .stack = stack });
	queue_chain(&held);
	refuse = refused;
	gate = by_worker;
	if (by_worker)
		wait_asleep(&links[0], &result);
	else
		drover_pool_for(outer, 0, 1, 1, wait_for_first, &result);
	tap_ok(result == NR && !nr_wrong, "%s: all %d have run", what, NR);
	gate = 1;
	end();
	pool = outer;
	if (outer)
		end();
}

int main(void)
{
	tap_plan(4 + 2);
	test_chain(false, 0, false, "a thread that waits runs a chain");
	test_chain(true, 0, false, "the only worker runs a chain");
	test_chain(true, SMALL, false, "a worker with a small stack runs one");
	await_alone();
	tap_ok(true, "no thread is left behind");
	test_chain(true, SMALL, true, "a thread is refused in a chain");
	tap_ok(nr_refused >= 1, "a wait has returned EAGAIN, %d times",
	       nr_refused);
	return tap_exit();
}
