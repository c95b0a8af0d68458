// SPDX-License-Identifier: MIT
/*
 * Workers: finding tasks, looking out for some, going to sleep, and waking.
 */
#include <limits.h>
#include <sched.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "pool/pool.h"
#include "base/thread.h"

/* Pauses between two looks grow to this many. */
#define MOST_PAUSES 64

/* So often in vain, and nobody lingers, but for one try of so many. */
#define MISSES_OFF 4
#define TRY_AGAIN  32

/* Idle workers that are looked at for one that is not on this CPU. */
#define LOOKS_AT_IDLE 8

/* What a wake-up takes, at most, where CPUs are to be had. */
#define WAKING (60 * NS_PER_US)

static _Thread_local struct worker *self;

struct worker *pool_self(struct drover_pool *pool)
{
	return self && self->pool == pool ? self : NULL;
}

static void count(_Atomic uint64_t *counter, uint64_t more)
{
	store_relaxed(counter, load_relaxed(counter) + more);
}

static struct task *steal(struct worker *w)
{
	struct drover_pool *pool = w->pool;

	w->random = w->random * 1664525 + 1013904223;
	for (unsigned int i = 0; i < pool->nr_workers; i++) {
		unsigned int nr =
			(w->random % pool->nr_workers + i) % pool->nr_workers;
		struct task *task;

		if (nr == w->nr)
			continue;
		task = queue_take(pool, &pool->workers[nr].queue, false);
		if (task) {
			count(&w->steals, 1);
			return task;
		}
	}
	return NULL;
}

struct task *worker_take(struct worker *w)
{
	struct drover_pool *pool = w->pool;
	struct task *task;

	if (!load_relaxed(&pool->nr_queued))
		return NULL;
	task = queue_take(pool, &w->queue, true);
	if (!task)
		task = queue_take(pool, &pool->injected, false);
	return task ? task : steal(w);
}

/* ---- waking ---- */

/* With the idle lock: the latest one that was not on @cpu, of a few. */
static struct worker **idle_off(struct drover_pool *pool, int cpu)
{
	struct worker **at = &pool->idle;

	for (int i = 0; i < LOOKS_AT_IDLE && *at; i++) {
		if ((*at)->cpu != cpu)
			return at;
		at = &(*at)->next_idle;
	}
	return &pool->idle;
}

/* With the idle lock: one that sleeps, or is about to; it is searching now. */
static struct worker *claim_idle(struct drover_pool *pool, int cpu)
{
	struct worker **at = idle_off(pool, cpu), *w = *at;

	if (!w)
		return NULL;
	*at = w->next_idle;
	w->is_idle = false;
	store_seq_cst(&pool->nr_idle, load_relaxed(&pool->nr_idle) - 1);
	add_seq_cst(&pool->nr_searching, 1);
	return w;
}

static bool wake_one(struct drover_pool *pool, bool busy)
{
	int cpu = busy ? sched_getcpu() : -1;
	struct worker *w;

	pool_lock(&pool->idle_lock);
	w = claim_idle(pool, cpu);
	pool_unlock(&pool->idle_lock);
	if (!w)
		return false;
	if (busy)
		place_before_wake(w, cpu);
	store_release(&w->park, UNPARKED); /* [P-CLAIM] */
	futex_wake(&w->park, 1, false);
	add_relaxed(&pool->wakes, 1);
	return true;
}

/*
 * Tasks were pushed, or a worker has stopped searching because it found one.
 * Two store-buffering pairs, sequentially consistent on all sides; models:
 * pool.pml, litmus-pool.pml
 *
 *   [P-PUSH] here: nr_queued grows, then nr_searching is read; a worker that
 *	      gives up: nr_searching shrinks, nr_idle grows, then nr_queued is
 *	      read. Without it both could miss the other, and the task waits for
 *	      the next one.
 *   [P-FOUND] a worker that found a task: nr_searching shrinks, then nr_queued
 *	      is read here. Without it a submit that counted on that worker and
 *	      the worker could both leave a task to the other.
 */
void wake_if_needed(struct drover_pool *pool, unsigned int most, bool busy)
{
	while (most--) {
		uint32_t nr = load_seq_cst(&pool->nr_queued);

		if (!nr || load_seq_cst(&pool->nr_searching) >= nr ||
		    !load_seq_cst(&pool->nr_idle) || !wake_one(pool, busy))
			return;
	}
}

void wake_all_idle(struct drover_pool *pool)
{
	while (wake_one(pool, false))
		;
}

/* ---- looking out ---- */

static bool may_linger(struct drover_pool *pool)
{
	uint32_t misses = load_relaxed(&pool->linger_misses), free = 0;

	if (!pool->linger || pool->one_cpu)
		return false;
	if (misses >= MISSES_OFF) {
		store_relaxed(&pool->linger_misses, misses + 1);
		if (misses % TRY_AGAIN)
			return false;
	}
	return cas_relaxed(&pool->lingering, &free, 1);
}

/* At most one worker is here at a time. */
static struct task *look_for_task(struct worker *w)
{
	struct drover_pool *pool = w->pool;
	int64_t begin = clock_now(), now = begin;
	int64_t most = cpu_is_small(sched_getcpu()) ? pool->linger_small :
						      pool->linger;
	struct task *task = NULL;

	for (int pauses = 1; !task && now - begin < most;) {
		for (int i = 0; i < pauses; i++)
			cpu_relax();
		task = worker_take(w);
		if (pauses < MOST_PAUSES)
			pauses *= 2;
		now = clock_now();
	}
	count(&w->linger_ns, now - begin);
	store_relaxed(&pool->lingering, 0);
	if (task)
		store_relaxed(&pool->linger_misses, 0);
	else if (load_relaxed(&pool->linger_misses) < MISSES_OFF)
		add_relaxed(&pool->linger_misses, 1);
	return task;
}

/* ---- sleeping ---- */

static void become_idle(struct worker *w)
{
	struct drover_pool *pool = w->pool;
	int cpu = sched_getcpu();

	store_relaxed(&w->park, PARKED);
	pool_lock(&pool->idle_lock);
	w->cpu = cpu;
	w->next_idle = pool->idle;
	pool->idle = w;
	w->is_idle = true;
	store_seq_cst(&pool->nr_idle, load_relaxed(&pool->nr_idle) + 1);
	pool_unlock(&pool->idle_lock);
}

/* Until somebody who has claimed us says so. */
static void await_claim(struct worker *w)
{
	while (load_acquire(&w->park) == PARKED) /* [P-CLAIM] */
		futex_wait(&w->park, PARKED, NULL, false);
	place_after_wake(w);
}

/*
 * There may be work after all. If somebody has claimed us meanwhile, the word
 * of that has to come before we may be idle again.
 */
static void stop_being_idle(struct worker *w)
{
	struct drover_pool *pool = w->pool;
	struct worker **at = &pool->idle;
	bool was_idle;

	pool_lock(&pool->idle_lock);
	was_idle = w->is_idle;
	if (was_idle) {
		while (*at != w)
			at = &(*at)->next_idle;
		*at = w->next_idle;
		w->is_idle = false;
		store_seq_cst(&pool->nr_idle, load_relaxed(&pool->nr_idle) - 1);
		add_seq_cst(&pool->nr_searching, 1);
	}
	pool_unlock(&pool->idle_lock);
	if (!was_idle)
		await_claim(w);
}

static void sleep_idle(struct worker *w)
{
	int64_t begin = clock_now();

	count(&w->sleeps, 1);
	await_claim(w);
	/* To linger would have paid, but for the time that waking takes. */
	if (clock_now() - begin < w->pool->linger + WAKING)
		store_relaxed(&w->pool->linger_misses, 0);
}

/*
 * Without a task: search, sleep, and search again. The worker is counted as
 * searching whenever it is here and not idle. Return: NULL when it shall end.
 */
static struct task *await_task(struct worker *w)
{
	struct drover_pool *pool = w->pool;
	struct task *task = NULL;

	add_seq_cst(&pool->nr_searching, 1);
	if (may_linger(pool))
		task = look_for_task(w);
	while (!task) {
		add_seq_cst(&pool->nr_searching, (uint32_t)-1);
		become_idle(w);
		/* [P-PUSH] After nr_searching and nr_idle. */
		if (load_seq_cst(&pool->nr_queued) || load_seq_cst(&pool->over))
			stop_being_idle(w);
		else
			sleep_idle(w);
		task = worker_take(w);
		if (!task && load_seq_cst(&pool->over))
			break;
		/* Too late for one task: the next may be close behind. */
		if (!task && may_linger(pool))
			task = look_for_task(w);
	}
	add_seq_cst(&pool->nr_searching, (uint32_t)-1); /* [P-FOUND] */
	wake_if_needed(pool, 1, true);
	return task;
}

void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct task *task;

	self = w;
	w->tid = thread_tid();
	w->woken_from = -1;
	for (;;) {
		task = worker_take(w);
		if (!task)
			task = await_task(w);
		if (!task)
			return NULL;
		task_run(w->pool, w, task);
	}
}
