// SPDX-License-Identifier: MIT
/* drover_pool_t: its beginning, its end, and what it has done. */
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "pool/pool.h"
#include "base/thread.h"

#define LINGER (10 * NS_PER_US)

/* What the kernel keeps of a thread's name, and its end. */
#define NAME_SIZE 16

bool pool_is_here(const struct drover_pool *pool)
{
	return pool->life == fork_generation;
}

static int64_t linger_of(uint32_t us, int64_t unless)
{
	if (us == DROVER_POOL_NO_LINGER)
		return 0;
	return us ? us * NS_PER_US : unless;
}

static struct drover_pool *pool_new(unsigned int nr_workers)
{
	struct drover_pool *pool = aligned_alloc(128, sizeof(*pool));
	size_t bytes = nr_workers * sizeof(struct worker);

	if (!pool)
		return NULL;
	memset(pool, 0, sizeof(*pool));
	pool->workers = aligned_alloc(128, bytes);
	if (!pool->workers) {
		free(pool);
		return NULL;
	}
	memset(pool->workers, 0, bytes);
	pool->nr_workers = nr_workers;
	pool->life = fork_generation;
	return pool;
}

static void pool_delete(struct drover_pool *pool)
{
	free(pool->workers);
	free(pool);
}

/* ---- workers ---- */

/* The CPU number @nr, in turn, of those the caller may use. */
static void pin(pthread_attr_t *attr, unsigned int nr)
{
	cpu_set_t all, one;
	int cpu = 0;

	if (sched_getaffinity(0, sizeof(all), &all) || !CPU_COUNT(&all))
		return;
	nr %= CPU_COUNT(&all);
	while (!CPU_ISSET(cpu, &all) || nr--)
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	pthread_attr_setaffinity_np(attr, sizeof(one), &one);
}

static void name_worker(struct worker *w, const char *name)
{
	char number[NAME_SIZE], full[2 * NAME_SIZE];
	int digits = snprintf(number, sizeof(number), "-%u", w->nr);

	snprintf(full, sizeof(full), "%.*s%s", NAME_SIZE - 1 - digits,
		 name ? name : "pool", number);
	pthread_setname_np(w->thread, full);
}

static int start_worker(struct drover_pool *pool, unsigned int nr,
			const drover_poolattr_t *attr)
{
	struct worker *w = &pool->workers[nr];
	pthread_attr_t thread_attr;
	int err;

	w->pool = pool;
	w->nr = nr;
	w->random = nr;
	err = pthread_attr_init(&thread_attr);
	if (err)
		return err;
	if (attr->stack)
		err = pthread_attr_setstacksize(&thread_attr, attr->stack);
	if (attr->flags & DROVER_POOL_PIN)
		pin(&thread_attr, nr);
	if (!err)
		err = pthread_create(&w->thread, &thread_attr, worker_main, w);
	pthread_attr_destroy(&thread_attr);
	if (!err)
		name_worker(w, attr->name);
	return err;
}

static void end_workers(struct drover_pool *pool)
{
	int state;

	/* [P-PUSH] A worker that falls asleep looks at it, or is woken here. */
	store_seq_cst(&pool->over, 1);
	wake_all_idle(pool);
	/* To join is a cancellation point, and no function of a pool is. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	for (unsigned int i = 0; i < pool->nr_started; i++)
		pthread_join(pool->workers[i].thread, NULL);
	pthread_setcancelstate(state, &state);
}

static int create(struct drover_pool **to, const drover_poolattr_t *attr)
{
	struct drover_pool *pool;
	unsigned int cpus;
	int err = 0;

	cpus_forget();
	cpus = cpus_usable();
	pool = pool_new(attr->workers ?: cpus);
	if (!pool)
		return ENOMEM;
	cpus_look_at_sizes();
	pool->linger = linger_of(attr->linger_us, LINGER);
	pool->linger_small = linger_of(attr->linger_small_us, pool->linger / 2);
	pool->nr_cpus = cpus;
	pool->one_cpu = cpus == 1;
	while (!err && pool->nr_started < pool->nr_workers) {
		err = start_worker(pool, pool->nr_started, attr);
		pool->nr_started += !err;
	}
	if (err) {
		end_workers(pool);
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
	if (attr->flags & ~DROVER_POOL_PIN || attr->workers > DROVER_POOL_MAX ||
	    attr->reserved[0] || attr->reserved[1])
		return EINVAL;
	err = create(pool, attr);
	errno = saved;
	return err;
}

/* ---- the end ---- */

static void cancel_queue(struct drover_pool *pool, struct queue *queue)
{
	struct task *task;

	while ((task = queue_take(pool, queue, false)))
		task_cancel_taken(pool, task);
}

/* Workers cancel what they find, but they may be busy for long. */
static void cancel_queued(struct drover_pool *pool)
{
	cancel_queue(pool, &pool->injected);
	for (unsigned int i = 0; i < pool->nr_workers; i++)
		cancel_queue(pool, &pool->workers[i].queue);
}

int drover_pool_shutdown(drover_pool_t *pool, enum drover_pool_end how)
{
	uint32_t open = POOL_OPEN;

	if (how != DROVER_POOL_DRAIN && how != DROVER_POOL_CANCEL)
		return EINVAL;
	if (!pool_is_here(pool))
		return ECHILD;
	if (pool_self(pool))
		return EDEADLK;
	/* [P-END] Against pool_admit(): each sees the other. */
	if (!cas_seq_cst(&pool->ending, &open,
			 how == DROVER_POOL_DRAIN ? POOL_DRAINS : POOL_CANCELS))
		return EALREADY;
	if (how == DROVER_POOL_CANCEL)
		cancel_queued(pool);
	pool_await_none(pool);
	end_workers(pool);
	return 0;
}

int drover_pool_free(drover_pool_t *pool)
{
	if (pool_is_here(pool) && !load_relaxed(&pool->over))
		return EBUSY;
	pool_delete(pool);
	return 0;
}

/* ---- statistics ---- */

void drover_pool_stats(drover_pool_t *pool, drover_poolstats_t *stats)
{
	*stats = (drover_poolstats_t){
		.workers = pool->nr_workers,
		.cancelled = load_relaxed(&pool->cancelled),
		.helped = load_relaxed(&pool->helped),
		.wakes = load_relaxed(&pool->wakes),
		.moves = load_relaxed(&pool->moves),
		.queued_most = load_relaxed(&pool->queued_most),
	};
	stats->tasks = stats->helped;
	for (unsigned int i = 0; i < pool->nr_workers; i++) {
		struct worker *w = &pool->workers[i];

		stats->tasks += load_relaxed(&w->tasks);
		stats->steals += load_relaxed(&w->steals);
		stats->sleeps += load_relaxed(&w->sleeps);
		stats->linger_ns += load_relaxed(&w->linger_ns);
	}
}
