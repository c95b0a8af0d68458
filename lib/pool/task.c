// SPDX-License-Identifier: MIT
/* Tasks: submitting, running, waiting for one or for all, cancelling. */
#include <limits.h>
#include <stdlib.h>

#include "base/clock.h"
#include "pool/pool.h"

/*
 * Looks at a running task before the waiting thread sleeps, without a clock;
 * and the most that it looks on, ns: what sleeping and being woken takes.
 */
#define LOOKS		400
#define LOOKS_PER_CLOCK 16
#define LOOK_MOST	(60 * NS_PER_US)
#define LOOK_LEAST	(1 * NS_PER_US)

#define WAKE_AT_ONCE 2

/* The most tasks that can be pending: half of a word. */
#define PENDING_MOST (UINT32_MAX / 2 - 1)

void drover_task_init(drover_task_t *task, int (*function)(void *arg),
		      void *arg)
{
	*task = (drover_task_t)DROVER_TASK_INITIALIZER(function, arg);
}

/* ---- how many there are ---- */

static void pool_dismiss(struct drover_pool *pool, uint32_t nr)
{
	uint32_t left = 1;

	/* The last one of all: the pool may be gone, but for its address. */
	if (sub_acq_rel(&pool->pending, 2 * nr) == 2 * nr + 1 &&
	    cas_relaxed(&pool->pending, &left, 0))
		futex_wake(&pool->pending, INT_MAX, false);
}

int pool_admit(struct drover_pool *pool, uint32_t nr)
{
	uint32_t ending;

	if (nr > PENDING_MOST / 2)
		return EINVAL;
	/* Counted first, so that a shutdown that we do not see waits for us. */
	add_seq_cst(&pool->pending, 2 * nr);
	ending = load_seq_cst(&pool->ending);
	if (ending == POOL_OPEN || (ending == POOL_DRAINS && pool_self(pool)))
		return 0;
	pool_dismiss(pool, nr);
	return ESHUTDOWN;
}

void pool_await_none(struct drover_pool *pool)
{
	uint32_t pending = load_relaxed(&pool->pending);

	/* A 1 is about to become 0, and that is the last access to it. */
	while (pending) {
		if (!(pending & 1) &&
		    !cas_relaxed(&pool->pending, &pending, pending | 1))
			continue;
		futex_wait(&pool->pending, pending | 1, NULL, false);
		pending = load_relaxed(&pool->pending);
	}
	(void)load_acquire(&pool->pending); /* [P-END] */
}

int drover_pool_wait_all(drover_pool_t *pool)
{
	if (!pool_is_here(pool))
		return ECHILD;
	if (pool_self(pool))
		return EDEADLK;
	pool_await_none(pool);
	return 0;
}

/* ---- submitting ---- */

static bool accept(struct task *task)
{
	uint32_t state = load_relaxed(&task->state);

	return (state == TASK_NEW || state == TASK_DONE) &&
	       cas_relaxed(&task->state, &state, TASK_RUNNING);
}

/* Link @nr tasks to a list; all of them, or none. */
static int accept_all(struct task *tasks, size_t nr, struct queue *queue)
{
	for (size_t i = 0; i < nr; i++) {
		if (!tasks[i].function || !accept(&tasks[i])) {
			int err = tasks[i].function ? EBUSY : EINVAL;

			while (i--)
				store_relaxed(&tasks[i].state, TASK_NEW);
			return err;
		}
		tasks[i].queue = queue;
		tasks[i].cancelled = false;
		tasks[i].prev = i ? &tasks[i - 1] : NULL;
		tasks[i].next = i + 1 < nr ? &tasks[i + 1] : NULL;
	}
	return 0;
}

int pool_submit(struct drover_pool *pool, struct task *tasks, size_t nr,
		bool busy)
{
	struct worker *w = pool_self(pool);
	struct queue *queue = w ? &w->queue : &pool->injected;
	int err;

	if (!pool_is_here(pool))
		return ECHILD;
	if (!nr || nr > PENDING_MOST)
		return nr ? EINVAL : 0;
	err = pool_admit(pool, (uint32_t)nr);
	if (err)
		return err;
	err = accept_all(tasks, nr, queue);
	if (err) {
		pool_dismiss(pool, (uint32_t)nr);
		return err;
	}
	queue_push(pool, queue, tasks, &tasks[nr - 1], (uint32_t)nr);
	/* Those that wake go on waking others. */
	wake_if_needed(pool, nr < WAKE_AT_ONCE ? nr : WAKE_AT_ONCE, busy || w);
	return 0;
}

int drover_pool_submit(drover_pool_t *pool, drover_task_t *task)
{
	return task ? pool_submit(pool, task_of(task), 1, false) : EINVAL;
}

int drover_pool_submit_batch(drover_pool_t *pool, drover_task_t *tasks,
			     size_t nr)
{
	return tasks || !nr ? pool_submit(pool, task_of(tasks), nr, false) :
			      EINVAL;
}

int drover_pool_post(drover_pool_t *pool, int (*function)(void *arg), void *arg)
{
	int saved = errno, err;
	struct task *task;

	if (!function)
		return EINVAL;
	task = malloc(sizeof(*task));
	errno = saved;
	if (!task)
		return ENOMEM;
	*task = (struct task){ .function = function,
			       .arg = arg,
			       .posted = true };
	err = pool_submit(pool, task, 1, false);
	if (err)
		free(task);
	return err;
}

/* ---- running ---- */

/*
 * [P-END] Release of all that the task did; pairs with the acquire load of who
 * waits. One step with the look at AWAITED, as at the barrier.
 */
static void task_end(struct drover_pool *pool, struct task *task)
{
	if (task->posted)
		free(task);
	else if (swap_acq_rel(&task->state, TASK_DONE) & TASK_AWAITED)
		futex_wake(&task->state, INT_MAX, false);
	pool_dismiss(pool, 1);
}

void task_cancel_taken(struct drover_pool *pool, struct task *task)
{
	add_relaxed(&pool->cancelled, 1);
	task->cancelled = true;
	task_end(pool, task);
}

void task_run(struct drover_pool *pool, struct worker *w, struct task *task)
{
	if (load_relaxed(&pool->ending) == POOL_CANCELS) {
		task_cancel_taken(pool, task);
		return;
	}
	if (w)
		store_relaxed(&w->tasks, load_relaxed(&w->tasks) + 1);
	else
		add_relaxed(&pool->helped, 1);
	task->result = task->function(task->arg);
	task_end(pool, task);
}

/* ---- waiting ---- */

static uint32_t state_of(struct task *task)
{
	return load_acquire(&task->state) & TASK_STATE; /* [P-END] */
}

static void sleep_until_done(struct task *task)
{
	uint32_t state = load_relaxed(&task->state);

	while ((state & TASK_STATE) != TASK_DONE) {
		if (!(state & TASK_AWAITED) &&
		    !cas_relaxed(&task->state, &state, state | TASK_AWAITED))
			continue;
		futex_wait(&task->state, state | TASK_AWAITED, NULL, false);
		state = load_relaxed(&task->state);
	}
	(void)load_acquire(&task->state); /* [P-END] */
}

/* Run other tasks until @task has ended or there are none. */
static void help(struct worker *w, struct task *task)
{
	struct task *other;

	while (state_of(task) != TASK_DONE && (other = worker_take(w)))
		task_run(w->pool, w, other);
}

static bool look(struct task *task, int times)
{
	for (int i = 0; i < times; i++) {
		if (state_of(task) == TASK_DONE)
			return true;
		cpu_relax();
	}
	return false;
}

/*
 * A wait took @ns from the end of its first looks on. To have looked on would
 * have paid, or not; threads may overwrite each other's.
 */
static void learn(struct drover_pool *pool, int64_t ns)
{
	int64_t before = load_relaxed(&pool->look_ns);
	int64_t now = ns <= LOOK_MOST ? 2 * ns : before / 2;

	if (ns <= LOOK_MOST && now < before)
		return;
	now = now < LOOK_LEAST ? LOOK_LEAST : now;
	now = now > LOOK_MOST ? LOOK_MOST : now;
	if (now != before)
		store_relaxed(&pool->look_ns, (uint32_t)now);
}

/* While each thread that is awake has a CPU: otherwise @task may need ours. */
static bool look_on(struct drover_pool *pool, struct task *task, int64_t begin)
{
	int64_t end = begin + load_relaxed(&pool->look_ns);

	while (pool_has_room(pool) && clock_now() < end)
		if (look(task, LOOKS_PER_CLOCK))
			return true;
	return false;
}

static void await_running(struct drover_pool *pool, struct task *task)
{
	int64_t begin;

	if (!pool->one_cpu && look(task, LOOKS))
		return;
	begin = clock_now();
	if (!look_on(pool, task, begin)) {
		sleep_until_done(task);
		learn(pool, clock_now() - begin);
	}
}

static void await(struct drover_pool *pool, struct task *task)
{
	struct worker *w = pool_self(pool);

	if (state_of(task) == TASK_QUEUED && queue_take_this(pool, task)) {
		task_run(pool, w, task);
		return;
	}
	if (w)
		help(w, task);
	await_running(pool, task);
}

int drover_pool_wait(drover_pool_t *pool, drover_task_t *of, int *result)
{
	struct task *task = task_of(of);

	if (!pool_is_here(pool))
		return ECHILD;
	if (!task || state_of(task) == TASK_NEW)
		return EINVAL;
	await(pool, task);
	if (task->cancelled)
		return ECANCELED;
	if (result)
		*result = task->result;
	return 0;
}

int drover_pool_cancel(drover_pool_t *pool, drover_task_t *of)
{
	struct task *task = task_of(of);

	if (!pool_is_here(pool))
		return ECHILD;
	if (!task || state_of(task) == TASK_NEW)
		return EINVAL;
	if (state_of(task) != TASK_QUEUED || !queue_take_this(pool, task))
		return EBUSY;
	task_cancel_taken(pool, task);
	return 0;
}
