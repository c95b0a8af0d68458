// SPDX-License-Identifier: MIT
/* Tasks: submitting, running, waiting for one or for all, cancelling. */
#include <limits.h>
#include <stdlib.h>

#include "pool/pool.h"

/* The most tasks of a batch: only 2^31 - 1 can be pending in all. */
#define BATCH_MOST (1u << 30)

void drover_task_init(drover_task_t *task, int (*function)(void *arg),
		      void *arg)
{
	*task = (drover_task_t)DROVER_TASK_INITIALIZER(function, arg);
}

/* ---- how many there are ---- */

/*
 * [P-END] Releases everything that the task did, and is the last access to the
 * latch. Pairs with the acquire load in poll_latch(). The same step tells
 * whether ASLEEP was set, as at the barrier, and counts the moment without
 * tasks.
 */
void latch_down(latch_word *latch, uint32_t nr)
{
	uint64_t old = load_relaxed(latch), to;

	do {
		to = old - nr * LATCH_ONE;
		if ((uint32_t)to <= LATCH_ASLEEP)
			to = (to & ~(uint64_t)LATCH_ASLEEP) + LATCH_NONE;
	} while (!cas_acq_rel(latch, &old, to));
	if (!(uint32_t)to && old & LATCH_ASLEEP)
		wake_sleepers(HIGH_HALF(latch), INT_MAX, false);
}

struct awaited {
	latch_word *latch;
	uint64_t begin, now;
};

/* Is the latch 0, or was it 0 at some moment since @begin was read? */
static bool poll_latch(void *of)
{
	struct awaited *a = of;

	a->now = load_acquire(a->latch); /* [P-END] */
	return !(uint32_t)a->now || (a->now ^ a->begin) >= LATCH_NONE;
}

int latch_await(latch_word *latch, const struct deadline *deadline, bool must)
{
	/*
	 * [P-END] Sequentially consistent for pool->pending, which is counted
	 * up by pool_admit() before it looks at pool->ending.
	 */
	struct awaited a = { latch, load_seq_cst(latch), 0 };
	long ret = 0;
	int err;

	if (poll_before_sleep(&pool_here.account, poll_latch, &a,
			      time_left(deadline)))
		return 0;
	err = block_begin(must);
	if (err)
		return err;
	while (!poll_latch(&a) && ret != -ETIMEDOUT)
		if (a.now & LATCH_ASLEEP ||
		    cas_relaxed(latch, &a.now, a.now | LATCH_ASLEEP))
			ret = sleep_on(HIGH_HALF(latch),
				       (uint32_t)(a.begin >> 32), deadline,
				       false, FUTEX_BITSET_MATCH_ANY,
				       &pool_here.account);
	block_end();
	return poll_latch(&a) ? 0 : ETIMEDOUT;
}

void pool_await_none(struct drover_pool *pool)
{
	if (!threads_any(pool))
		queues_empty(pool, false);
	latch_await(&pool->pending, NULL, true);
}

int pool_admit(struct drover_pool *pool, uint32_t nr)
{
	uint32_t ending;

	/*
	 * Counted first: a shutdown that the load misses waits for the tasks.
	 */
	add_seq_cst(&pool->pending, LATCH_ONE * nr);
	ending = load_seq_cst(&pool->ending);
	if (ending == POOL_OPEN || (ending == POOL_DRAINS && pool_inside(pool)))
		return 0;
	latch_down(&pool->pending, nr);
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

/* Accept @task, unless it was accepted before and has not ended. */
static bool accept_one(struct task *task)
{
	uint64_t ended = load_relaxed(&task->unended);

	return !(uint32_t)ended &&
	       cas_acquire(&task->unended, &ended, ended + LATCH_ONE);
}

/* Accept all tasks, or leave all as they were. */
static int accept_all(struct drover_pool *pool, struct task *tasks, size_t nr)
{
	size_t i = 0;
	int err;

	while (i < nr && tasks[i].function && accept_one(&tasks[i]))
		i++;
	/*
	 * All tasks are looked at before they are counted in: @nr of a batch
	 * that is refused may be any number.
	 */
	if (i == nr)
		err = pool_admit(pool, (uint32_t)nr);
	else
		err = tasks[i].function ? EBUSY : EINVAL;
	while (err && i--)
		latch_down(&tasks[i].unended, 1);
	return err;
}

/* Link @nr tasks to a list. */
static void link_all(struct task *tasks, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		tasks[i].left = 1;
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
	/* Wake only a few: each worker that is woken wakes others. */
	wake_if_needed(pool, nr < WAKE_AT_ONCE ? nr : WAKE_AT_ONCE, busy || w);
}

void pool_enqueue_own(struct drover_pool *pool, struct task *task)
{
	add_seq_cst(&pool->pending, LATCH_ONE);
	link_all(task, 1);
	pool_enqueue(pool, task, task, 1, false);
}

int drover_pool_submit_batch(drover_pool_t *pool, drover_task_t *of, size_t nr)
{
	struct task *tasks = (struct task *)of;
	int err;

	if (!pool_is_here(pool))
		return ECHILD;
	if (!nr)
		return 0;
	if (!tasks || nr > BATCH_MOST)
		return EINVAL;
	err = accept_all(pool, tasks, nr);
	if (err)
		return err;
	link_all(tasks, nr);
	pool_enqueue(pool, tasks, &tasks[nr - 1], (uint32_t)nr, false);
	return 0;
}

int drover_pool_submit(drover_pool_t *pool, drover_task_t *task)
{
	return drover_pool_submit_batch(pool, task, 1);
}

/* A task that no thread waits for. */
struct post {
	struct task task;
	void (*otherwise)(void *arg); /* called if it's cancelled; or NULL */
};

int drover_pool_post_or(drover_pool_t *pool, int (*function)(void *arg),
			void (*otherwise)(void *arg), void *arg)
{
	int saved = errno, err;
	struct post *post = malloc(sizeof(*post));

	errno = saved;
	if (!post)
		return ENOMEM;
	*post = (struct post){
		{ .function = function, .arg = arg, .owner = OWNER_POST },
		otherwise
	};
	err = drover_pool_submit(pool, (drover_task_t *)&post->task);
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
	enum owner owner; /* copied: a stream may free its task meanwhile */
	bool cancelled;
	int result;
};

/*
 * The task ends by a return, an exception, or the end of the thread. A task may
 * also return in the child of a fork. There the memory of the task may be the
 * stack of a thread that the child lacks, so it is left alone.
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
	latch_down(&pool->pending, 1);
}

void task_run(struct drover_pool *pool, struct task *task, bool cancelled)
{
	struct running r __attribute__((cleanup(running_end))) = {
		.task = task, .owner = task->owner, .cancelled = true
	};
	struct worker *w = pool_self(pool);

	frame_enter(&r.frame, pool);
	if (r.owner != OWNER_GANG &&
	    (cancelled || load_relaxed(&pool->ending) == POOL_CANCELS)) {
		struct post *post = (struct post *)task; /* if it is a post */

		/* The helpers of a loop are not tasks of the user. */
		add_relaxed(&pool->cancelled, r.owner != OWNER_LOOP);
		if (r.owner == OWNER_POST && post->otherwise)
			post->otherwise(task->arg);
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

	if (!err && load_relaxed(&task->queue) && stack_is_short())
		err = task_run_apart(pool, task);
	if (!err && queue_take_all(pool, task))
		task_run(pool, task, false);
	else if (!err)
		err = latch_await(&task->unended, NULL, false);
	return err ?: drover_pool_test(pool, of, result);
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
	return err ?: drover_pool_test(pool, of, result);
}

int drover_pool_test(drover_pool_t *pool, drover_task_t *of, int *result)
{
	struct task *task = (struct task *)of;
	int err = may_wait(pool, task);

	if (err)
		return err;
	if ((uint32_t)load_acquire(&task->unended)) /* [P-END] */
		return EBUSY;
	if (task->cancelled)
		return ECANCELED;
	if (result)
		*result = task->result;
	return 0;
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
