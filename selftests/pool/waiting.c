// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread that waits for a task runs that one, or none; a worker that sleeps so
 * gives its place to another. Each part hangs where a waiting worker runs what it
 * finds on top of its own task, or keeps its place.
 */
#include "tasks.h"

#define NR_CHILDREN 40

static atomic_int may_wait, nr_met, waiter_done;
static drover_task_t held, waiting, late;

/* Says who it is, then waits for the task @arg. */
static int wait_when_told(void *task)
{
	int err;

	sleeper = blocked_gettid();
	reached(&may_wait, 1);
	err = drover_pool_wait(pool, task, NULL);
	waiter_done = 1;
	return err;
}

/* "held" runs, and "waiting" is to wait for it, each in a worker. */
static void begin_two(const char *what)
{
	watchdog(what);
	begin(2);
	may_wait = waiter_done = 0;
	submit_held(&held);
	submit(&waiting, wait_when_told, &held);
	reached(&sleeper, 1);
}

/* "waiting" sleeps until "held" ends. */
static void let_wait(void)
{
	may_wait = 1;
	asleep(sleeper);
}

static void end_two(const char *what)
{
	reached(&nr_begun, 2);
	gate = 1;
	tap_is(drover_pool_wait_all(pool), 0, "%s", what);
	end();
}

static int count_and_wait(void *task)
{
	nr_begun++;
	return drover_pool_wait(pool, task, NULL);
}

static int outlast(void *arg)
{
	nr_begun++;
	reached(&waiter_done, 1);
	return 0;
}

/* Two tasks that need each other. */
static int meet(void *arg)
{
	nr_met++;
	reached(&nr_met, 2);
	return 0;
}

static void *run_held(void *of)
{
	drover_pool_wait(of, &held, NULL);
	return NULL;
}

static int wait_for_held(void *of)
{
	sleeper = blocked_gettid();
	return drover_pool_wait(of, &held, NULL);
}

/*
 * The one worker of a pool has a task that blocks, so that "held" runs in a thread
 * that waits for it. Then each of two workers of another waits for "held".
 */
static void test_places(void)
{
	drover_task_t waits[2], meets[2];
	drover_pool_t *first;
	pthread_t thread;

	watchdog("places");
	begin(1);
	first = pool;
	submit_held(&late);
	submit(&held, hold, NULL);
	thread = thread_of(run_held, first);
	reached(&nr_begun, 2);
	MUST(drover_pool_create(&pool, &(drover_poolattr_t){ .workers = 2 }));
	for (int i = 0; i < 2; i++) {
		sleeper = 0;
		submit(&waits[i], wait_for_held, first);
		reached(&sleeper, 1);
		asleep(sleeper);
	}
	for (int i = 0; i < 2; i++)
		submit(&meets[i], meet, NULL);
	reached(&nr_met, 2);
	tap_ok(true, "two wait for a task of another pool, and two run");
	gate = 1;
	joined(thread);
	end();
	pool = first;
	end();
}

/* They run in pairs: each ends when the other one has begun. */
static int run_child(void *arg)
{
	int pair = nr_met++ / 2;

	reached(&nr_met, 2 * pair + 2);
	return 0;
}

static int run_parent(void *arg)
{
	drover_task_t children[NR_CHILDREN];
	int nr_wrong = 0;

	for (int i = 0; i < NR_CHILDREN; i++)
		drover_task_init(&children[i], run_child, NULL);
	nr_wrong += drover_pool_submit_batch(pool, children, NR_CHILDREN) != 0;
	for (int i = 0; i < NR_CHILDREN; i++)
		nr_wrong += drover_pool_wait(pool, &children[i], NULL) != 0;
	return nr_wrong;
}

static void test_pairs(void)
{
	drover_task_t parent;

	watchdog("pairs");
	begin(2);
	nr_met = 0;
	submit(&parent, run_parent, NULL);
	drover_pool_wait_all(pool);
	tap_is(result_of(&parent), 0,
	       "a task waits for its children, and two run at a time");
	end();
}

static void *wait_for_all(void *arg)
{
	struct sched_param none = { 0 };

	pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);
	sleeper = blocked_gettid();
	drover_pool_wait_all(pool);
	waiter_done = 1;
	return arg;
}

static int begin_to_wait(size_t begin, size_t end, void *thread)
{
	start_thread(thread, wait_for_all, NULL);
	reached(&sleeper, 1);
	asleep(sleeper);
	return 0;
}

/* Between the loop and the task there is none, and who waits cannot look then. */
static void test_moment(void)
{
	cpu_set_t one = one_cpu(), all;
	pthread_t thread;

	watchdog("a moment without tasks");
	begin(2);
	waiter_done = 0;
	sched_getaffinity(0, sizeof(all), &all);
	sched_setaffinity(0, sizeof(one), &one);
	drover_pool_for(pool, 0, 1, 1, begin_to_wait, &thread);
	submit(&held, hold, NULL);
	reached(&waiter_done, 1);
	tap_ok(true, "a moment without tasks is enough for wait_all");
	sched_setaffinity(0, sizeof(all), &all);
	gate = 1;
	joined(thread);
	end();
}

int main(void)
{
	tap_plan(5);
	begin_two("a chain of waits");
	let_wait();
	submit(&late, count_and_wait, &waiting);
	end_two("a chain of waits comes to its end");
	/* "late" is queued before the wait, and ends after "waiting". */
	begin_two("an unrelated task");
	submit(&late, outlast, NULL);
	let_wait();
	end_two("no unrelated task runs on top of one that waits");
	test_places();
	test_pairs();
	test_moment();
	return tap_exit();
}
