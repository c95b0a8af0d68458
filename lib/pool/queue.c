// SPDX-License-Identifier: MIT
/*
 * Queues of tasks: linked lists, each under a lock that is held only briefly.
 * They need no memory of their own, and any task can be taken out of the
 * middle. nr_queued changes in the same section as the list, so it never counts
 * a task that no thread can find.
 */
#include "pool/pool.h"

/* Append the list from @first to @last, to be taken @nr times. */
void queue_push(struct drover_pool *pool, struct queue *queue,
		struct task *first, struct task *last, uint32_t nr)
{
	uint32_t most = load_relaxed(&pool->queued_most);

	lock_take(&queue->lock);
	for (struct task *task = first; task; task = task->next)
		store_release(&task->queue, queue); /* [P-TASK] */
	first->prev = queue->last;
	last->next = NULL;
	if (queue->last)
		queue->last->next = first;
	else
		store_relaxed(&queue->first, first);
	queue->last = last;
	/* [P-PUSH] Before wake_if_needed() looks at the workers that search. */
	nr += add_seq_cst(&pool->nr_queued, nr);
	lock_drop(&queue->lock);
	while (nr > most && !cas_relaxed(&pool->queued_most, &most, nr))
		;
}

/*
 * Take @task @nr times; unlink it when it may be taken no more. [queue's lock]
 */
static void take(struct drover_pool *pool, struct queue *queue,
		 struct task *task, uint32_t nr)
{
	sub_seq_cst(&pool->nr_queued, nr);
	task->left -= nr;
	if (task->left)
		return;
	if (task->prev)
		task->prev->next = task->next;
	else
		store_relaxed(&queue->first, task->next);
	if (task->next)
		task->next->prev = task->prev;
	else
		queue->last = task->prev;
	store_relaxed(&task->queue, NULL);
}

struct task *queue_take(struct drover_pool *pool, struct queue *queue,
			bool newest)
{
	struct task *task;

	if (!load_relaxed(&queue->first))
		return NULL;
	lock_take(&queue->lock);
	task = newest ? queue->last : load_relaxed(&queue->first);
	if (task)
		take(pool, queue, task, 1);
	lock_drop(&queue->lock);
	return task;
}

uint32_t queue_take_all(struct drover_pool *pool, struct task *task)
{
	struct queue *queue = load_acquire(&task->queue); /* [P-TASK] */
	uint32_t nr = 0;

	if (!queue)
		return 0;
	lock_take(&queue->lock);
	if (load_relaxed(&task->queue) == queue) {
		nr = task->left;
		take(pool, queue, task, nr);
	}
	lock_drop(&queue->lock);
	return nr;
}
