// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scenarios of the pool: its queues, and its workers that sleep and are woken.
 */
#include <drover/pool.h>
#include <errno.h>

#include "base/atomic.h"
#include "scenarios.h"

#define MOST_TASKS 4

static drover_pool_t *pool;
static drover_task_t tasks[MOST_TASKS];
/*
 * How often each task was run: written by the task, read after a wait for it.
 */
static int ran[MOST_TASKS];
static atomic_int nr_left;

static int run_task(void *arg)
{
	int nr = (int)(intptr_t)arg;

	ran[nr]++;
	return nr;
}

static void setup_workers(unsigned int nr)
{
	drover_poolattr_t attr = {
		.workers = nr,
		.linger_us = DROVER_POOL_NO_LINGER,
		.linger_small_us = DROVER_POOL_NO_LINGER,
		.spares = DROVER_POOL_NO_SPARES,
	};

	expect(!drover_pool_create(&pool, &attr));
	call_it(pool, 1024, "pool");
	call_it(tasks, sizeof(tasks), "tasks");
	call_it(ran, sizeof(ran), "ran");
	for (intptr_t i = 0; i < MOST_TASKS; i++)
		drover_task_init(&tasks[i], run_task, (void *)i);
	nr_left = 2;
}

static void setup_one(void)
{
	setup_workers(1);
}

static void setup_two(void)
{
	setup_workers(2);
}

static void submit(int nr)
{
	expect(!drover_pool_submit(pool, &tasks[nr]));
}

static void await(int nr)
{
	int result = -1;

	expect(!drover_pool_wait(pool, &tasks[nr], &result));
	expect(result == nr && ran[nr] == 1);
	give_back(&tasks[nr], sizeof(tasks[nr]));
}

static void end_pool(void)
{
	expect(!drover_pool_shutdown(pool, DROVER_POOL_DRAIN));
	expect(!drover_pool_free(pool));
}

static void one_by_one(int me)
{
	(void)me;
	submit(0);
	await(0);
	submit(1);
	await(1);
	end_pool();
}

static void together(int me)
{
	(void)me;
	submit(0);
	submit(1);
	await(0);
	await(1);
	end_pool();
}

/* Two threads submit a task each; the last one ends the pool. */
static void submitters(int me)
{
	submit(me);
	await(me);
	if (atomic_fetch_sub(&nr_left, 1) == 1)
		end_pool();
}

static void wait_all(int me)
{
	(void)me;
	submit(0);
	submit(1);
	expect(!drover_pool_wait_all(pool));
	expect(ran[0] == 1 && ran[1] == 1);
	end_pool();
}

/* The threads do not wait for the tasks; the end of the pool does. */
static void drain(int me)
{
	(void)me;
	submit(0);
	submit(1);
	end_pool();
	expect(ran[0] == 1 && ran[1] == 1);
}

/* A task that is cancelled while a worker may take it. */
static void cancel(int me)
{
	int err;

	(void)me;
	submit(0);
	err = drover_pool_cancel(pool, &tasks[0]);
	expect(!err || err == EBUSY || err == EALREADY);
	drover_pool_wait(pool, &tasks[0], NULL);
	expect(ran[0] == (err ? 1 : 0));
	end_pool();
}

#define POLICIES "auto,spin=0 auto"

const struct scenario pool_scenarios[] = {
	{ "pool", 1, 1, 0, POLICIES, setup_one, one_by_one, NULL },
	{ "pool-together", 1, 2, 0, POLICIES, setup_two, together, NULL },
	{ "pool-any", 1, 2, INTERRUPTS | SPURIOUS, POLICIES, setup_two,
	  together, NULL },
	{ "pool-submitters", 2, 2, 0, POLICIES, setup_two, submitters, NULL },
	{ "pool-wait-all", 1, 2, 0, POLICIES, setup_two, wait_all, NULL },
	{ "pool-drain", 1, 2, 0, POLICIES, setup_two, drain, NULL },
	{ "pool-cancel", 1, 1, 0, POLICIES, setup_one, cancel, NULL },
};
const int nr_pool_scenarios = sizeof(pool_scenarios) / sizeof(*pool_scenarios);
