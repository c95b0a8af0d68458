// SPDX-License-Identifier: GPL-2.0-only
/* A batch that is refused leaves all its tasks as they were. */
#include <errno.h>

#include "blocked.h"
#include "blocks.h"
#include "tap.h"

#define NR 3

static int answer(void *arg)
{
	return (int)(intptr_t)arg;
}

int main(void)
{
	drover_pool_t *pool = pool_of(1);
	drover_task_t tasks[NR];
	int result = 0;

	watchdog("resubmit");
	tap_plan(6);
	for (int i = 0; i < NR; i++)
		drover_task_init(&tasks[i], answer, (void *)(intptr_t)(i + 1));
	drover_pool_submit(pool, &tasks[0]);
	drover_pool_wait(pool, &tasks[0], NULL);
	tasks[2].function = NULL;
	tap_is(drover_pool_submit_batch(pool, tasks, NR), EINVAL,
	       "a batch with a bad task");
	tap_is(drover_pool_wait(pool, &tasks[0], &result), 0,
	       "one that had ended still has");
	tap_is(result, 1, "with its result");
	tap_is(drover_pool_wait(pool, &tasks[1], NULL), EINVAL,
	       "one that was new still is");
	tasks[2].function = answer;
	tap_is(drover_pool_submit_batch(pool, tasks, NR), 0, "once more");
	for (int i = 0; i < NR; i++)
		if (drover_pool_wait(pool, &tasks[i], &result))
			tap_diag("task %d", i);
	tap_is(result, NR, "then all run");
	pool_end(pool, DROVER_POOL_DRAIN);
	return tap_exit();
}
