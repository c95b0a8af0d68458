// SPDX-License-Identifier: MIT
/* Tasks: submitting, running, waiting for one or for all, cancelling. */
#include <limits.h>
#include <stdlib.h>

#include "pool/pool.h"

#define WAKE_AT_ONCE 2

/* The most tasks at a time; 2^31 - 1 can be pending. */
#define BATCH_MOST (1u << 30)

void drover_task_init(drover_task_t *task, int (*function)(void *arg),
		      void *arg)
{
	*task = (drover_task_t)DROVER_TASK_INITIALIZER(function, arg);
}

/* ---- how many there are ---- */

/*
 * [P-END] Release of all that the task did, and of the last access to the latch;
 * pairs with the acquire load of who waits. One step with the look at ASLEEP, as at
 * the barrier.
 */
void latch_down(futex_word *latch, uint32_t nr)
{
	uint32_t left = LATCH_ASLEEP;

	if (sub_acq_rel(latch, nr * LATCH_ONE) ==
		    nr * LATCH_ONE + LATCH_ASLEEP &&
	    cas_release(latch, &left, 0))
		sleep_end(latch, INT_MAX, false);
}

/* How often there was none: what sleepers wait for a change of. */
static futex_word *nones_of(struct drover_pool *pool)
{
	return (futex_word *)&pool->pending +
	       (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
}

/* [P-END] The same, and the moment without tasks is counted in that step. */
void pool_count_down(struct drover_pool *pool, uint32_t nr)
{
	uint64_t old = load_relaxed(&pool->pending), to;

	do {
		to = old - nr * LATCH_ONE;
		if ((uint32_t)to <= LATCH_ASLEEP)
			to = (to & ~(uint64_t)LATCH_ASLEEP) + PENDING_NONE;
	} while (!cas_acq_rel(&pool->pending, &old, to));
	if (!(uint32_t)to && old & LATCH_ASLEEP)
		sleep_end(nones_of(pool), INT_MAX, false);
}

static bool poll_latch(void *of)
{
	futex_word *latch = of;

	return !load_acquire(latch); /* [P-END] */
}

int latch_await(futex_word *latch, const struct deadline *deadline, bool must)
{
	uint32_t left;
	long ret = 0;
	int err;

	if (linger(&pool_here.account, poll_latch, latch, time_left(deadline)))
		return 0;
	err = block_begin(must);
	if (err)
		return err;
	left = load_relaxed(latch);
	/* ASLEEP alone is about to become 0, and that is the last access to it. */
	while (left && ret != -ETIMEDOUT) {
		if (!(left & LATCH_ASLEEP) &&
		    !cas_relaxed(latch, &left, left | LATCH_ASLEEP))
			continue;
		ret = sleep_on(latch, left | LATCH_ASLEEP, deadline, false,
			       FUTEX_BITSET_MATCH_ANY, &pool_here.account);
		left = load_relaxed(latch);
	}
	err = load_acquire(latch) ? ETIMEDOUT : 0; /* [P-END] */
	block_end();
	return err;
}

struct moment {
	struct drover_pool *pool;
	uint64_t begin, now;
};

/* Is there none, or was there none since the beginning? */
static bool poll_moment(void *of)
{
	struct moment *m = of;

	m->now = load_acquire(&m->pool->pending); /* [P-END] */
	return !(uint32_t)m->now || (m->now ^ m->begin) >= PENDING_NONE;
}

void pool_await_none(struct drover_pool *pool)
{
	/* [P-END] Sequentially consistent: against pool_admit(). */
	struct moment m = { pool, load_seq_cst(&pool->pending), 0 };

	if (!threads_any(pool))
		queues_empty(pool, false);
	if (linger(&pool_here.account, poll_moment, &m, INT64_MAX))
		return;
	block_begin(true);
	while (!poll_moment(&m))
		if (m.now & LATCH_ASLEEP ||
		    cas_relaxed(&pool->pending, &m.now, m.now | LATCH_ASLEEP))
			sleep_on(nones_of(pool), (uint32_t)(m.begin >> 32),
				 NULL, false, FUTEX_BITSET_MATCH_ANY,
				 &pool_here.account);
	block_end();
}

int pool_admit(struct drover_pool *pool, uint32_t nr)
{
	uint32_t ending;

	/* Counted first, so that a shutdown that we do not see waits for us. */
	add_seq_cst(&pool->pending, LATCH_ONE * nr);
	ending = load_seq_cst(&pool->ending);
	if (ending == POOL_OPEN || (ending == POOL_DRAINS && pool_inside(pool)))
		return 0;
	pool_count_down(pool, nr);
	return ESHUTDOWN;
}

int drover_pool_wait_all(drover_pool_t *pool)
{
	if (!pool_is_here(pool))
		return ECHILD;
	if (pool_inside(pool))
		return EDEADLK;
	pool_await_none(pool);
	return 0;
}

/* ---- submitting ---- */

/* Accept all, or none: then they are what they were. */
static int accept_all(struct drover_pool *pool, struct task *tasks, size_t nr)
{
	uint32_t ended = 0;
	size_t i = 0;
	int err;

	while (i < nr && tasks[i].function &&
	       cas_acquire(&tasks[i].unended, &ended, LATCH_ONE))
		i++;
	/* Not before: a batch that is refused can claim to be of any length. */
	if (i == nr)
		err = pool_admit(pool, (uint32_t)nr);
	else
		err = tasks[i].function ? EBUSY : EINVAL;
	while (err && i--)
		latch_down(&tasks[i].unended, 1);
	return err;
}

/* Make a list of them. */
static void link_all(struct task *tasks, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		tasks[i].left = 1;
		tasks[i].cancelled = false;
		store_relaxed(&tasks[i].accepted, true);
		tasks[i].prev = i ? &tasks[i - 1] : NULL;
		tasks[i].next = i + 1 < nr ? &tasks[i + 1] : NULL;
	}
}

void pool_enqueue(struct drover_pool *pool, struct task *first,
		  struct task *last, uint32_t nr, bool busy)
{
	struct worker *w = pool_self(pool);

	queue_push(pool, w ? &w->queue : &pool->injected, first, last, nr);
	/* Those that wake go on waking others. */
	wake_if_needed(pool, nr < WAKE_AT_ONCE ? nr : WAKE_AT_ONCE, busy || w);
}

void pool_enqueue_own(struct drover_pool *pool, struct task *task)
{
	add_seq_cst(&pool->pending, LATCH_ONE);
	link_all(task, 1);
	pool_enqueue(pool, task, task, 1, false);
}

static int submit(struct drover_pool *pool, struct task *tasks, size_t nr)
{
	int err;

	if (!pool_is_here(pool))
		return ECHILD;
	if (!nr || nr > BATCH_MOST)
		return nr ? EINVAL : 0;
	err = accept_all(pool, tasks, nr);
	if (err)
		return err;
	link_all(tasks, nr);
	pool_enqueue(pool, tasks, &tasks[nr - 1], (uint32_t)nr, false);
	return 0;
}

int drover_pool_submit(drover_pool_t *pool, drover_task_t *task)
{
	return task ? submit(pool, (struct task *)task, 1) : EINVAL;
}

int drover_pool_submit_batch(drover_pool_t *pool, drover_task_t *tasks,
			     size_t nr)
{
	return tasks || !nr ? submit(pool, (struct task *)tasks, nr) : EINVAL;
}

int drover_pool_post_or(drover_pool_t *pool, int (*function)(void *arg),
			void (*otherwise)(void *arg), void *arg)
{
	int saved = errno, err;
	struct task *post;

	post = malloc(sizeof(*post));
	errno = saved;
	if (!post)
		return ENOMEM;
	*post = (struct task){ .function = function,
			       .arg = arg,
			       .owner = OWNER_POST,
			       .otherwise = otherwise };
	err = submit(pool, post, 1);
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
	enum owner owner; /* a stream's task may be another one's meanwhile */
	bool cancelled;
	int result;
};

/*
 * By a return, an exception, or the end of the thread. In a child that a task
 * has come back in its memory may be another thread's stack.
 */
static void running_end(struct running *r)
{
	struct drover_pool *pool = r->frame.pool;

	frame_leave(&r->frame);
	if (!pool_is_here(pool))
		return;
	if (r->owner == OWNER_USER) {
		r->task->cancelled = r->cancelled;
		r->task->result = r->result;
	}
	if (r->owner == OWNER_POST)
		free(r->task);
	else if (r->owner != OWNER_QUEUE)
		latch_down(&r->task->unended, 1);
	pool_count_down(pool, 1);
}

void task_run(struct drover_pool *pool, struct task *task, bool cancelled)
{
	struct running r __attribute__((cleanup(running_end))) = {
		.task = task, .owner = task->owner, .cancelled = true
	};
	struct worker *w = pool_self(pool);

	frame_enter(&r.frame, pool);
	if (cancelled || load_relaxed(&pool->ending) == POOL_CANCELS) {
		add_relaxed(&pool->cancelled, 1);
		if (task->otherwise)
			task->otherwise(task->arg);
		return;
	}
	if (w)
		store_relaxed(&w->tasks, load_relaxed(&w->tasks) + 1);
	else
		add_relaxed(&pool->helped, 1);
	r.result = task->function(task->arg);
	r.cancelled = false;
}

/* ---- waiting ---- */

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
	return task && load_relaxed(&task->accepted) ? 0 : EINVAL;
}

int drover_pool_wait(drover_pool_t *pool, drover_task_t *of, int *result)
{
	struct task *task = (struct task *)of;
	int err = may_wait(pool, task);

	if (!err && queue_take_all(pool, task))
		task_run(pool, task, false);
	else if (!err)
		err = latch_await(&task->unended, NULL, false);
	return outcome(task, err, result);
}

int drover_pool_clockwait(drover_pool_t *pool, drover_task_t *of,
			  clockid_t clock, const struct timespec *at,
			  int *result)
{
	struct deadline deadline = { clock, *at };
	struct task *task = (struct task *)of;
	int err = may_wait(pool, task);

	if (!err && !deadline_valid(&deadline))
		err = EINVAL;
	if (!err)
		err = latch_await(&task->unended, &deadline, false);
	return outcome(task, err, result);
}

int drover_pool_test(drover_pool_t *pool, drover_task_t *of, int *result)
{
	struct task *task = (struct task *)of;
	int err = may_wait(pool, task);

	if (!err && load_acquire(&task->unended)) /* [P-END] */
		err = EBUSY;
	return outcome(task, err, result);
}

int drover_pool_cancel(drover_pool_t *pool, drover_task_t *of)
{
	struct task *task = (struct task *)of;
	int err = may_wait(pool, task);

	if (err)
		return err;
	if (!queue_take_all(pool, task))
		return EBUSY;
	task_run(pool, task, true);
	return 0;
}
