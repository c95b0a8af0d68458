// SPDX-License-Identifier: MIT
/*
 * Queues of tasks: linked lists under a short lock. They need no memory, any
 * task can be taken out of the midst, and nr_queued changes in the same section
 * as the list, so it never says that there is a task that nobody can find.
 */
#include "pool/pool.h"

static void note_most(struct drover_pool *pool, uint32_t nr)
{
	uint32_t most = load_relaxed(&pool->queued_most);

	while (nr > most && !cas_relaxed(&pool->queued_most, &most, nr))
		;
}

/* Append the list from @first to @last, of @nr tasks. */
void queue_push(struct drover_pool *pool, struct queue *queue,
		struct task *first, struct task *last, uint32_t nr)
{
	lock_take(&queue->lock);
	for (struct task *task = first; task; task = task->next)
		/* [P-TASK] */
		add_acq_rel(&task->state, TASK_QUEUED - TASK_RUNNING);
	first->prev = queue->last;
	last->next = NULL;
	if (queue->last)
		queue->last->next = first;
	else
		queue->first = first;
	queue->last = last;
	store_relaxed(&queue->nr, load_relaxed(&queue->nr) + nr);
	/* [P-PUSH] Before the look at who is awake: wake_if_needed(). */
	nr += add_seq_cst(&pool->nr_queued, nr);
	lock_drop(&queue->lock);
	note_most(pool, nr);
}

/* With the queue's lock. */
static void unlink_task(struct drover_pool *pool, struct queue *queue,
			struct task *task)
{
	if (task->prev)
		task->prev->next = task->next;
	else
		queue->first = task->next;
	if (task->next)
		task->next->prev = task->prev;
	else
		queue->last = task->prev;
	store_relaxed(&queue->nr, load_relaxed(&queue->nr) - 1);
	add_seq_cst(&pool->nr_queued, (uint32_t)-1);
	/* A waiting thread may add AWAITED at the same time. */
	add_relaxed(&task->state, TASK_RUNNING - TASK_QUEUED);
}

struct task *queue_take(struct drover_pool *pool, struct queue *queue,
			bool newest)
{
	struct task *task;

	if (!load_relaxed(&queue->nr))
		return NULL;
	lock_take(&queue->lock);
	task = newest ? queue->last : queue->first;
	if (task)
		unlink_task(pool, queue, task);
	lock_drop(&queue->lock);
	return task;
}

bool queue_take_this(struct drover_pool *pool, struct task *task)
{
	struct queue *queue = task->queue;
	bool queued;

	lock_take(&queue->lock);
	queued = (load_relaxed(&task->state) & TASK_STATE) == TASK_QUEUED;
	if (queued)
		unlink_task(pool, queue, task);
	lock_drop(&queue->lock);
	return queued;
}
