/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * steps.h - what tasks and callers of a pool do, in words: see run.h
 *
 *	"begin 2; task 0 holds; begun 1 = 0; open; wait 0 = 0; end"
 *
 * Tasks are numbered from 0 to 9. The function of a task is a word, too.
 */
#pragma once

#define REFUSES
#include "tasks.h"

/* Children of "family". */
#define NR_CHILDREN 40

static drover_task_t tasks[10];
static drover_pool_t *first_pool; /* the other pool, if there are two */
static drover_poolattr_t next_attr;
static pthread_t main_thread, helper;
static atomic_int may_wait, nr_met, nr_inside, nr_most, apart;
static atomic_int nr_otherwise;
static int result, told_all, told_shutdown, told_post;
static bool was_here, refuse;

static bool refuses(bool memory)
{
	return refuse && !memory;
}

static inline drover_task_t *task_at(long number)
{
	return number < NR_OF(tasks) ? &tasks[number] : NULL;
}

/* ---- what tasks do; @arg may be the number of another task ---- */

typedef int task_function(void *arg);

#define TASK(name)                        \
	static int run_##name(void *arg); \
	NUMBER(name, (long)run_##name);   \
	static int run_##name(void *arg)

NUMBER(nothing, 0);
NUMBER(answers, (long)answer);
NUMBER(counts, (long)count);
NUMBER(holds, (long)hold);

TASK(apart)
{
	nr_begun++;
	return wait_at_least(&apart, 1);
}

/* Waits for another task as soon as it may. */
TASK(told)
{
	int err;

	sleeper = blocked_gettid();
	reached(&may_wait, 1);
	err = drover_pool_wait(pool, task_at((long)arg), NULL);
	apart = 1;
	return err;
}

/* In the first pool */
TASK(waits)
{
	sleeper = blocked_gettid();
	nr_begun++;
	return drover_pool_wait(first_pool, task_at((long)arg), NULL);
}

/* Returns the result of its first wait; it waits again if that was EAGAIN. */
TASK(insists)
{
	int first = wait_for(task_at((long)arg));

	apart = 1;
	while (drover_pool_wait(pool, task_at((long)arg), NULL) == EAGAIN)
		sched_yield();
	return first;
}

/* Tasks in pairs: each ends when the other one has begun. */
TASK(meets)
{
	int pair = nr_met++ / 2;

	return wait_at_least(&nr_met, 2 * pair + 2);
}

TASK(family)
{
	drover_task_t children[NR_CHILDREN];
	int nr_wrong = 0;

	for (int i = 0; i < NR_CHILDREN; i++)
		drover_task_init(&children[i], run_meets, NULL);
	nr_wrong += drover_pool_submit_batch(pool, children, NR_CHILDREN) != 0;
	for (int i = 0; i < NR_CHILDREN; i++)
		nr_wrong += drover_pool_wait(pool, &children[i], NULL) != 0;
	return nr_wrong;
}

/*
 * The child is in the queue of this task's worker. Another worker has to take
 * it, because this task does not wait for it by the pool.
 */
TASK(parent)
{
	int before = nr_run;

	submit(&tasks[9], count, NULL);
	return wait_at_least(&nr_run, before + 1);
}

/* Counts how many such tasks run at the same time at most. */
TASK(crowds)
{
	int nr = ++nr_inside;

	if (nr > nr_most)
		nr_most = nr;
	sched_yield();
	nr_inside--;
	return 0;
}

TASK(inside)
{
	was_here = pthread_equal(pthread_self(), main_thread);
	told_all = drover_pool_wait_all(pool);
	told_shutdown = drover_pool_shutdown(pool, DROVER_POOL_CANCEL);
	return 0;
}

TASK(ends)
{
	pthread_exit(arg);
}

static void *shut_down(void *how)
{
	sleeper = blocked_gettid();
	drover_pool_shutdown(pool, (long)how);
	return NULL;
}

/* Submits while another thread drains the pool. */
TASK(drained)
{
	run_inside(arg);
	helper = thread_of(shut_down, (void *)DROVER_POOL_DRAIN);
	reached(&sleeper, 1);
	asleep(sleeper);
	told_post = drover_pool_post(pool, count, NULL);
	gate = 1;
	return 0;
}

/* ---- what callers do ---- */

STEP(begin)
{
	next_attr.workers = args[0];
	begin_with(next_attr);
	first_pool = pool;
	return 0;
}

STEP(second)
{
	next_attr.workers = args[0];
	return drover_pool_create(&pool, &next_attr);
}

STEP_DO(end, end());

/* init TASK WHAT ARG */
STEP_DO(init, drover_task_init(task_at(args[0]), (task_function *)args[1],
			       (void *)args[2]));

/* task TASK WHAT ARG: init, and submit it */
STEP(task)
{
	do_init(args);
	return drover_pool_submit(pool, task_at(args[0]));
}

/* post WHAT TIMES: returns the last result */
STEP(post)
{
	int err = 0;

	for (int i = 0; i < args[1]; i++)
		err = drover_pool_post(pool, (task_function *)args[0], NULL);
	return err;
}

static void otherwise(void *arg)
{
	told_all = drover_pool_wait_all(pool);
	nr_otherwise++;
}

STEP(wait)
{
	result = 0;
	return drover_pool_wait(pool, task_at(args[0]), &result);
}

/* until TASK MILLISECONDS CLOCK; -1 milliseconds: an invalid time */
STEP(until)
{
	struct timespec until = { 0, NS_PER_S };

	if (args[1] >= 0)
		until = deadline_in(args[2] ? CLOCK_MONOTONIC : CLOCK_REALTIME,
				    args[1] * NS_PER_MS);
	return drover_pool_clockwait(pool, task_at(args[0]), args[2], &until,
				     NULL);
}

static void *open_when_asleep(void *tid)
{
	asleep((long)tid);
	gate = 1;
	return NULL;
}

STEP_DO(idle, await_sleep(args[0]));

STEP_IS(submit, drover_pool_submit(pool, task_at(args[0])));
STEP_IS(batch, drover_pool_submit_batch(pool, task_at(args[0]), args[1]));
STEP_IS(test, drover_pool_test(pool, task_at(args[0]), NULL));
STEP_IS(cancel, drover_pool_cancel(pool, task_at(args[0])));
STEP_IS(all, drover_pool_wait_all(pool));
STEP_IS(post_or,
	drover_pool_post_or(pool, (task_function *)args[0], otherwise, NULL));
STEP_IS(resize, drover_pool_resize(pool, args[0]));
STEP_IS(shutdown, drover_pool_shutdown(pool, args[0]));
STEP_IS(free, drover_pool_free(pool));
STEP_IS(back, (pool = first_pool) != NULL);
STEP_IS(spares, next_attr.spares = args[0]);
STEP_IS(stack, next_attr.stack = args[0]);
STEP_IS(reserved, next_attr.reserved[0] = args[0]);
STEP_IS(others, pool != first_pool);
STEP_IS(refuse, refuse = args[0]);
STEP_DO(open, gate = 1);
STEP_DO(release, apart = 1);
STEP_DO(let, may_wait = 1);
STEP_DO(nobody, sleeper = 0);
/* These start threads, for "join" */
STEP_IS(thread,
	pthread_create(&helper, NULL, wait_in_thread, task_at(args[0])));
STEP_IS(cancels,
	pthread_create(&helper, NULL, shut_down, (void *)DROVER_POOL_CANCEL));
STEP_IS(later, pthread_create(&helper, NULL, open_when_asleep,
			      (void *)(long)blocked_gettid()));
STEP_IS(join, pthread_join(helper, NULL));
/* These wait until it is so */
STEP_IS(begun, wait_at_least(&nr_begun, args[0]));
STEP_IS(runs, wait_at_least(&nr_run, args[0]));
STEP_IS(met, wait_at_least(&nr_met, args[0]));
STEP_IS(there, wait_at_least(&sleeper, 1));
STEP_IS(asleep, wait_blocked(getpid(), sleeper, NULL));
STEP_IS(otherwise, wait_at_least(&nr_otherwise, args[0]) + nr_otherwise);
STEP_IS(result, result);
STEP_IS(ran, nr_run);
STEP_IS(most, nr_most);
STEP_IS(here, was_here);
STEP_IS(told_all, told_all);
STEP_IS(told_shutdown, told_shutdown);
STEP_IS(told_post, told_post);
STEP_IS(workers, stats_of(pool).workers);
STEP_IS(ended, stats_of(pool).tasks);
STEP_IS(cancelled, stats_of(pool).cancelled);
STEP_IS(helped, stats_of(pool).helped);
STEP_IS(steals, stats_of(pool).steals);
STEP_IS(queued, stats_of(pool).queued_most);

NUMBER(null, 10);
NUMBER(none, DROVER_POOL_NO_SPARES);
NUMBER(too_many, DROVER_POOL_MAX + 1);
NUMBER(drain, DROVER_POOL_DRAIN);
NUMBER(ECANCELED, ECANCELED);
NUMBER(ESHUTDOWN, ESHUTDOWN);
NUMBER(EALREADY, EALREADY);
