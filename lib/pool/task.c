// SPDX-License-Identifier: MIT
/* Tasks: submitting, running, waiting for one or for all, cancelling. */
#include <limits.h>
#include <stdlib.h>

#include "pool/pool.h"

#define WAKE_AT_ONCE 2

/* The most tasks that can be pending: half of a word. */
#define PENDING_MOST (UINT32_MAX / 2 - 1)

void drover_task_init(drover_task_t *task, int (*function)(void *arg),
		      void *arg)
{
	*task = (drover_task_t)DROVER_TASK_INITIALIZER(function, arg);
}

/* ---- how many there are ---- */

void pool_dismiss(struct drover_pool *pool, uint32_t nr)
{
	uint32_t left = 1;

	/* The last one of all: the pool may be gone, but for its address. */
	if (sub_acq_rel(&pool->pending, 2 * nr) == 2 * nr + 1 &&
	    cas_relaxed(&pool->pending, &left, 0))
		sleep_end(&pool->pending, INT_MAX, false);
}

int pool_admit(struct drover_pool *pool, uint32_t nr)
{
	uint32_t ending;

	if (nr > PENDING_MOST / 2)
		return EINVAL;
	/* Counted first, so that a shutdown that we do not see waits for us. */
	add_seq_cst(&pool->pending, 2 * nr);
	ending = load_seq_cst(&pool->ending);
	if (ending == POOL_OPEN || (ending == POOL_DRAINS && pool_inside(pool)))
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
		sleep_on(&pool->pending, pending | 1, NULL, false,
			 FUTEX_BITSET_MATCH_ANY, &pool_here.account);
		pending = load_relaxed(&pool->pending);
	}
	(void)load_acquire(&pool->pending); /* [P-END] */
}

int drover_pool_wait_all(drover_pool_t *pool)
{
	if (!pool_is_here(pool))
		return ECHILD;
	if (pool_inside(pool))
		return EDEADLK;
	block_begin(true);
	pool_await_none(pool);
	block_end();
	return 0;
}

/* ---- submitting ---- */

static bool accept(struct task *task)
{
	uint32_t state = load_relaxed(&task->state);

	if ((state != TASK_NEW && state != TASK_DONE) ||
	    !cas_relaxed(&task->state, &state, TASK_RUNNING))
		return false;
	task->was = state;
	return true;
}

/* The last that is done to @task: whoever waits sees all before. */
static void leave_task(struct task *task, enum task_state state)
{
	/*
	 * [P-END] Release of all that the task did; pairs with the acquire load
	 * of who waits. One step with the look at AWAITED, as at the barrier.
	 */
	if (swap_acq_rel(&task->state, state) & TASK_AWAITED)
		sleep_end(&task->state, INT_MAX, false);
}

/* Accept all, or leave all as they were. */
static int accept_all(struct task *tasks, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		int err = tasks[i].function ? EBUSY : EINVAL;

		if (tasks[i].function && accept(&tasks[i]))
			continue;
		while (i--)
			leave_task(&tasks[i], tasks[i].was);
		return err;
	}
	return 0;
}

/* Make a list of them. */
static void link_all(struct task *tasks, size_t nr, struct queue *queue)
{
	for (size_t i = 0; i < nr; i++) {
		tasks[i].queue = queue;
		tasks[i].cancelled = false;
		tasks[i].prev = i ? &tasks[i - 1] : NULL;
		tasks[i].next = i + 1 < nr ? &tasks[i + 1] : NULL;
	}
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
	err = accept_all(tasks, nr);
	if (err) {
		pool_dismiss(pool, (uint32_t)nr);
		return err;
	}
	link_all(tasks, nr, queue);
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

int drover_pool_post_or(drover_pool_t *pool, int (*function)(void *arg),
			void (*otherwise)(void *arg), void *arg)
{
	int saved = errno, err;
	struct post *post;

	if (!function)
		return EINVAL;
	post = malloc(sizeof(*post));
	errno = saved;
	if (!post)
		return ENOMEM;
	*post = (struct post){ .task.function = function,
			       .task.arg = arg,
			       .task.posted = true,
			       .otherwise = otherwise };
	err = pool_submit(pool, &post->task, 1, false);
	if (err)
		free(post);
	return err;
}

int drover_pool_post(drover_pool_t *pool, int (*function)(void *arg), void *arg)
{
	return drover_pool_post_or(pool, function, NULL, arg);
}

/* ---- running ---- */

/* A task in the hands of this thread, until the end of its scope. */
struct running {
	struct frame frame;
	struct task *task;
	bool cancelled;
};

/* By a return, an exception, or the end of the thread. */
static void running_end(struct running *r)
{
	struct drover_pool *pool = r->frame.pool;

	frame_leave(&r->frame);
	if (r->task->posted) {
		free(r->task);
	} else {
		r->task->cancelled = r->cancelled;
		leave_task(r->task, TASK_DONE);
	}
	pool_dismiss(pool, 1);
}

#define RUNNING __attribute__((cleanup(running_end))) struct running

void task_cancel_taken(struct drover_pool *pool, struct task *task)
{
	RUNNING r = { .task = task, .cancelled = true };
	struct post *post = (struct post *)task;

	frame_enter(&r.frame, pool);
	add_relaxed(&pool->cancelled, 1);
	if (task->posted && post->otherwise)
		post->otherwise(task->arg);
}

static void call(struct drover_pool *pool, struct task *task)
{
	RUNNING r = { .task = task, .cancelled = true };

	frame_enter(&r.frame, pool);
	task->result = task->function(task->arg);
	r.cancelled = false;
}

void task_run(struct drover_pool *pool, struct task *task)
{
	struct worker *w = pool_self(pool);

	if (load_relaxed(&pool->ending) == POOL_CANCELS) {
		task_cancel_taken(pool, task);
		return;
	}
	if (w)
		store_relaxed(&w->tasks, load_relaxed(&w->tasks) + 1);
	else
		add_relaxed(&pool->helped, 1);
	call(pool, task);
}

/* ---- waiting ---- */

static uint32_t state_of(struct task *task)
{
	return load_acquire(&task->state) & TASK_STATE; /* [P-END] */
}

static enum polled poll_done(void *task)
{
	return state_of(task) == TASK_DONE ? POLL_CAME : POLL_NOTHING;
}

/* Return: 0 or ETIMEDOUT. */
static int sleep_until_done(struct task *task, const struct deadline *deadline)
{
	uint32_t state = load_relaxed(&task->state);

	while ((state & TASK_STATE) != TASK_DONE) {
		if (!(state & TASK_AWAITED) &&
		    !cas_relaxed(&task->state, &state, state | TASK_AWAITED))
			continue;
		if (sleep_on(&task->state, state | TASK_AWAITED, deadline,
			     false, FUTEX_BITSET_MATCH_ANY,
			     &pool_here.account) == -ETIMEDOUT)
			return state_of(task) == TASK_DONE ? 0 : ETIMEDOUT;
		state = load_relaxed(&task->state);
	}
	(void)load_acquire(&task->state); /* [P-END] */
	return 0;
}

/* Another thread has begun @task, or is to, since there is a @deadline. */
static int await_other(struct task *task, const struct deadline *deadline,
		       bool must)
{
	int err;

	if (linger(&pool_here.account, poll_done, task, time_left(deadline)))
		return 0;
	err = block_begin(must);
	if (err)
		return err;
	err = sleep_until_done(task, deadline);
	block_end();
	return err;
}

int pool_await(struct drover_pool *pool, struct task *task, bool must)
{
	if (state_of(task) == TASK_QUEUED && queue_take_this(pool, task)) {
		task_run(pool, task);
		return 0;
	}
	return await_other(task, NULL, must);
}

/* The end of a wait that came to @err. */
static int outcome(struct task *task, int err, int *result)
{
	if (!err && task->cancelled)
		err = ECANCELED;
	if (!err && result)
		*result = task->result;
	return err;
}

static int may_wait(struct drover_pool *pool, struct task *task)
{
	if (!pool_is_here(pool))
		return ECHILD;
	return task && state_of(task) != TASK_NEW ? 0 : EINVAL;
}

int drover_pool_wait(drover_pool_t *pool, drover_task_t *of, int *result)
{
	struct task *task = task_of(of);
	int err = may_wait(pool, task);

	return err ? err : outcome(task, pool_await(pool, task, false), result);
}

int drover_pool_clockwait(drover_pool_t *pool, drover_task_t *of,
			  clockid_t clock, const struct timespec *at,
			  int *result)
{
	struct deadline deadline = { clock, *at };
	struct task *task = task_of(of);
	int err = may_wait(pool, task);

	if (!err && !deadline_valid(&deadline))
		err = EINVAL;
	if (!err)
		err = await_other(task, &deadline, false);
	return outcome(task, err, result);
}

int drover_pool_test(drover_pool_t *pool, drover_task_t *of, int *result)
{
	struct task *task = task_of(of);
	int err = may_wait(pool, task);

	if (!err && state_of(task) != TASK_DONE)
		err = EBUSY;
	return outcome(task, err, result);
}

int drover_pool_cancel(drover_pool_t *pool, drover_task_t *of)
{
	struct task *task = task_of(of);
	int err = may_wait(pool, task);

	if (err)
		return err;
	if (state_of(task) != TASK_QUEUED || !queue_take_this(pool, task))
		return EBUSY;
	task_cancel_taken(pool, task);
	return 0;
}
