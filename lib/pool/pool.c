// SPDX-License-Identifier: MIT
/* drover_pool_t: its beginning, its end, and what it has done. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "pool/pool.h"

#define LINGER_SMALL (10 * NS_PER_US)
#define SPARES	     256

bool pool_inside(const struct drover_pool *pool)
{
	if (pool_self(pool))
		return true;
	for (struct frame *f = pool_here.top; f; f = f->below)
		if (f->pool == pool)
			return true;
	return false;
}

static void pool_delete(struct drover_pool *pool)
{
	struct worker *w = load_relaxed(&pool->threads), *next;

	for (; w; w = next) {
		next = w->next;
		free(w);
	}
	free(pool);
}

static int64_t linger_of(uint32_t us, int64_t unless)
{
	if (us == DROVER_POOL_NO_LINGER)
		return 0;
	return us ? us * NS_PER_US : unless;
}

int drover_pool_set_linger(drover_pool_t *pool, uint32_t us, uint32_t small_us)
{
	if (!pool_is_here(pool))
		return ECHILD;
	store_relaxed(&pool->linger[0], linger_of(us, INT64_MAX));
	store_relaxed(&pool->linger[1], linger_of(small_us, LINGER_SMALL));
	return 0;
}

static int create(struct drover_pool **to, const drover_poolattr_t *attr)
{
	size_t bytes = attr->nr_cpu_sets * sizeof(cpu_set_t);
	struct drover_pool *pool = aligned_alloc(128, sizeof(*pool) + bytes);
	int err;

	if (!pool)
		return ENOMEM;
	memset(pool, 0, sizeof(*pool));
	if (bytes)
		memcpy(pool->cpu_sets, attr->cpu_sets, bytes);
	pool->attr = *attr;
	if (!attr->spares)
		pool->attr.spares = SPARES;
	if (attr->spares == DROVER_POOL_NO_SPARES)
		pool->attr.spares = 0;
	snprintf(pool->name, sizeof(pool->name), "%s", attr->name ?: "pool");
	pool->generation = fork_generation_own();
	drover_pool_set_linger(pool, attr->linger_us, attr->linger_small_us);
	cpus_look_at_sizes();
	store_relaxed(&pool->wanted, attr->workers);
	remember_creator(pool);
	err = threads_set(pool);
	if (err) {
		threads_end(pool);
		pool_delete(pool);
		return err;
	}
	*to = pool;
	return 0;
}

int drover_pool_create(drover_pool_t **pool, const drover_poolattr_t *attr)
{
	static const drover_poolattr_t defaults;
	int saved = errno, err;

	if (!attr)
		attr = &defaults;
	if (attr->workers > DROVER_POOL_MAX ||
	    (attr->spares > DROVER_POOL_MAX &&
	     attr->spares != DROVER_POOL_NO_SPARES) ||
	    attr->nr_cpu_sets > DROVER_POOL_MAX ||
	    !attr->nr_cpu_sets != !attr->cpu_sets || attr->reserved[0] ||
	    attr->reserved[1])
		return EINVAL;
	err = create(pool, attr);
	errno = saved;
	return err;
}

/* ---- the end ---- */

void queues_empty(struct drover_pool *pool, bool cancel)
{
	struct worker *w = load_acquire(&pool->threads); /* [P-THREADS] */
	struct task *task;

	for (; w; w = w->next)
		while ((task = queue_take(pool, &w->queue, false)))
			task_run(pool, task, cancel);
	while ((task = queue_take(pool, &pool->injected, false)))
		task_run(pool, task, cancel);
}

int drover_pool_shutdown(drover_pool_t *pool, enum drover_pool_end how)
{
	uint32_t open = POOL_OPEN;

	if (how != DROVER_POOL_DRAIN && how != DROVER_POOL_CANCEL)
		return EINVAL;
	if (!pool_is_here(pool))
		return ECHILD;
	if (pool_inside(pool))
		return EDEADLK;
	/*
	 * [P-END] Against pool_admit(): either it sees the end, or the wait
	 * below sees the tasks that it has counted.
	 */
	if (!cas_seq_cst(&pool->ending, &open,
			 how == DROVER_POOL_DRAIN ? POOL_DRAINS : POOL_CANCELS))
		return EALREADY;
	/* Workers cancel the tasks that they find, but may be busy for long. */
	if (how == DROVER_POOL_CANCEL)
		queues_empty(pool, true);
	pool_await_none(pool);
	threads_end(pool);
	return 0;
}

int drover_pool_free(drover_pool_t *pool)
{
	if (pool_is_here(pool) && load_relaxed(&pool->ending) != POOL_OVER)
		return EBUSY;
	pool_delete(pool);
	return 0;
}

/* ---- statistics ---- */

void drover_pool_stats(drover_pool_t *pool, drover_poolstats_t *stats)
{
	struct worker *w = load_acquire(&pool->threads); /* [P-THREADS] */

	*stats = (drover_poolstats_t){
		.workers = load_relaxed(&pool->nr_workers),
		.cancelled = load_relaxed(&pool->cancelled),
		.helped = load_relaxed(&pool->helped),
		.wakes = load_relaxed(&pool->wakes),
		.moves = load_relaxed(&pool->moves),
		.queued_most = load_relaxed(&pool->queued_most),
		.threads = load_relaxed(&pool->nr_threads),
		.blocks = load_relaxed(&pool->blocks),
	};
	stats->tasks = stats->helped;
	for (; w; w = w->next) {
		stats->tasks += load_relaxed(&w->tasks);
		stats->steals += load_relaxed(&w->steals);
		stats->sleeps += load_relaxed(&w->sleeps);
		stats->linger_ns += load_relaxed(&w->linger_ns);
	}
}
