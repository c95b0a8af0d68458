// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread is cancelled inside its share of a loop, or inside a task that it
 * runs because it waits for the task; and a task ends the worker that runs it.
 * No thread uses a stack that has gone, no call hangs, and a thread that waits
 * for such a task gets ECANCELED.
 */
#include "steps.h"

static pthread_t victim;
static atomic_int nr_helpers, nr_through;
static int nr_wrong;

static int part(size_t begin, size_t end, void *arg)
{
	if (pthread_equal(pthread_self(), victim)) {
		reached(&nr_helpers, 1);
		pthread_exit(PTHREAD_CANCELED);
	}
	nr_helpers++;
	reached(&gate, 1);
	nr_helpers--;
	return 0;
}

static void after_loop(void *nr_left)
{
	*(int *)nr_left = nr_helpers;
}

static void *cancelled_in_loop(void *arg)
{
	victim = pthread_self();
	do_later(NULL);
	pthread_cleanup_push(after_loop, arg);
	drover_pool_for(pool, 0, 1000, 1, part, NULL);
	pthread_cleanup_pop(0);
	return NULL;
}

static void test_loop(void)
{
	int nr_left = -1;

	watchdog("cancelled in a loop");
	tap_ok(joined(thread_of(cancelled_in_loop, &nr_left)) ==
		       PTHREAD_CANCELED,
	       "a thread is cancelled in its share of a loop");
	joined(helper);
	tap_is(nr_left, 0, "the helpers have ended before its clean-up");
}

static int part_of_helper(size_t begin, size_t end, void *arg)
{
	if (!pthread_equal(pthread_self(), victim)) {
		nr_helpers++;
		pthread_exit(NULL);
	}
	reached(&nr_helpers, 1);
	return 0;
}

/*
 * A destructor of thread data waits. Its thread is no longer a worker: it runs
 * no tasks, and has no place in the pool.
 */
static void wait_at_end(void *arg)
{
	drover_task_t late;

	submit_held(&late);
	do_later(NULL);
	nr_wrong += drover_pool_wait(pool, &late, NULL) != 0;
	nr_through++;
}

static int exit_with_key(void *key)
{
	pthread_setspecific(*(pthread_key_t *)key, pool);
	pthread_exit(NULL);
}

static void test_helper(void)
{
	pthread_key_t key;

	watchdog("a helper ends");
	begin_with((drover_poolattr_t){ .workers = 1,
					.spares = DROVER_POOL_NO_SPARES });
	nr_helpers = 0;
	victim = pthread_self();
	tap_is(drover_pool_for(pool, 0, 10, 1, part_of_helper, NULL), ECANCELED,
	       "a part ends its thread: the loop returns ECANCELED");
	pthread_key_create(&key, wait_at_end);
	drover_pool_post(pool, exit_with_key, &key);
	reached(&nr_through, 1);
	joined(helper);
	tap_is(nr_wrong, 0, "a thread that was a worker may wait");
	end();
}

static int do_nothing(size_t begin, size_t end, void *arg)
{
	return 0;
}

STEP_IS(loop, drover_pool_for(pool, 0, 100, 1, do_nothing, NULL));

static void *come_through(void *right)
{
	pthread_cancel(pthread_self());
	*(bool *)right = steps_do("begin 1; task 0 holds; begun 1 = 0; later; "
				  "wait 0 = 0; post holds = 0; loop = 0; "
				  "all = 0; end");
	pthread_testcancel();
	return NULL;
}

static const char *const scenarios[] = {
	/* The task ends the thread that waits for it, and so runs it. */
	"begin 2; task 0 holds; task 1 holds; begun 2 = 0; task 2 ends; "
	"thread 2; join = 0; wait 2 = ECANCELED; open; all = 0; end",
	/* Tasks end more workers than the pool has. */
	"begin 2; post ends; all; post ends; all; post ends; all; post ends; "
	"all; post counts 10; all; ran = 10; end",
};

int main(void)
{
	bool right = false;

	if (!FRAMES_MAY_UNWIND)
		return frames_stay();
	tap_plan(2 + 2 + 2 + 2);
	next_attr.spares = DROVER_POOL_NO_SPARES;
	do_begin((long[]){ 2 });
	test_loop();
	end();
	for (int i = 0; i < 2; i++) {
		watchdog("a task ends its thread");
		tap_ok(steps_do(scenarios[i]), "%s",
		       i ? "tasks end workers" :
			   "a task ends a thread that waits for it");
	}
	test_helper();
	watchdog("cancelled before");
	tap_ok(joined(thread_of(come_through, &right)) == PTHREAD_CANCELED,
	       "a pending cancellation acts only after all calls");
	joined(helper);
	tap_ok(right, "no call acted upon the cancellation");
	return tap_exit();
}
