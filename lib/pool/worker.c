// SPDX-License-Identifier: MIT
/*
 * Workers: finding tasks, looking out for some, going to sleep, waking, and
 * taking each other's places.
 */
#include <sched.h>
#include <stdio.h>

#include "base/cpus.h"
#include "pool/pool.h"

/*
 * Once in so many searches a worker looks into the shared queue first, and once
 * into the queue whose turn it is. The number is a prime, so that it is out of
 * step with the patterns of programs.
 */
#define FAIR_EVERY 61

_Thread_local struct here pool_here;

static void count(_Atomic uint64_t *counter, uint64_t more)
{
	store_relaxed(counter, load_relaxed(counter) + more);
}

/* ---- finding ---- */

/* Steal from the workers behind @w in the list, then from those before it. */
static struct task *steal(struct worker *w)
{
	struct worker *from = w->next;
	struct task *task = NULL;

	for (int round = 0; round < 2 && !task; round++) {
		for (; from && from != w && !task; from = from->next)
			task = queue_take(w->pool, &from->queue, false);
		from = load_acquire(&w->pool->threads); /* [P-THREADS] */
	}
	if (task)
		count(&w->steals, 1);
	return task;
}

/*
 * Now and then take from another queue than the worker's own, so that no task
 * waits for ever. pool-design.rst has the bounds.
 */
static struct task *take_fairly(struct worker *w)
{
	struct drover_pool *pool = w->pool;

	if (++w->takes == FAIR_EVERY) {
		w->takes = 0;
		threads_follow(pool);
		return queue_take(pool, &pool->injected, false);
	}
	if (w->takes != FAIR_EVERY / 2)
		return NULL;
	w->fair = w->fair ? w->fair->next : NULL;
	if (!w->fair)
		w->fair = load_acquire(&pool->threads); /* [P-THREADS] */
	return w->fair ? queue_take(pool, &w->fair->queue, false) : NULL;
}

/* Take any task: the worker's own, or else an injected or another worker's. */
static struct task *worker_take(struct worker *w)
{
	struct drover_pool *pool = w->pool;
	struct task *task;

	if (!load_relaxed(&pool->nr_queued))
		return NULL;
	task = take_fairly(w) ?: queue_take(pool, &w->queue, true);
	return task ?: queue_take(pool, &pool->injected, false) ?: steal(w);
}

/* ---- waking ---- */

static bool may_be_active(struct drover_pool *pool)
{
	return load_seq_cst(&pool->nr_active) <
		       load_seq_cst(&pool->nr_workers) ||
	       load_relaxed(&pool->ending) == POOL_OVER;
}

/* Wake one worker, which counts as searching from now on. */
static bool wake_one(struct drover_pool *pool, bool busy)
{
	struct worker *w;

	lock_take(&pool->idle_lock);
	w = may_be_active(pool) ? pool->idle : NULL;
	if (w) {
		pool->idle = w->next_idle;
		store_seq_cst(&pool->nr_idle, load_relaxed(&pool->nr_idle) - 1);
		add_seq_cst(&pool->nr_searching, 1);
		add_seq_cst(&pool->nr_active, 1);
	}
	lock_drop(&pool->idle_lock);
	if (!w)
		return false;
	if (busy)
		place_before_wake(w, sched_getcpu());
	store_release(&w->parked, false); /* [P-CLAIM] */
	wake_sleepers(&w->parked, 1, false);
	add_relaxed(&pool->wakes, 1);
	return true;
}

/*
 * The caller has pushed tasks, or has stopped searching because it found one,
 * or is about to block or sleep. These pairs are store buffering, and
 * sequentially consistent on all sides; models: pool.pml, ordering.pml
 *
 *   [P-PUSH] A submit makes nr_queued grow, then reads nr_searching here. A
 *	      worker that gives up makes nr_searching shrink and nr_idle grow,
 *	      then reads nr_queued. Otherwise both could miss each other, and
 *	      the task would wait until the next submit.
 *   [P-FOUND] A worker that found a task makes nr_searching shrink, then reads
 *	      nr_queued here. Otherwise this worker and a submit that counted on
 *	      it could both leave a task to the other.
 *   [P-PLACE] A worker that blocks or falls idle makes nr_active shrink, then
 *	      reads nr_queued here. Otherwise this worker and a submit that
 *	      found no place could both leave a task to the other.
 */
void wake_if_needed(struct drover_pool *pool, unsigned int most, bool busy)
{
	while (most--) {
		uint32_t nr = load_seq_cst(&pool->nr_queued);

		if (!nr || load_seq_cst(&pool->nr_searching) >= nr)
			return;
		if (!load_seq_cst(&pool->nr_idle)) {
			threads_any(pool);
			return;
		}
		if (!may_be_active(pool) || !wake_one(pool, busy))
			return;
	}
}

void wake_all_idle(struct drover_pool *pool)
{
	while (wake_one(pool, false))
		;
}

/* ---- taking places ---- */

/* The caller's pool if it is a worker. In the child of a fork it is not one. */
static struct drover_pool *own_pool(void)
{
	struct worker *w = pool_here.worker;

	return w && pool_is_here(w->pool) ? w->pool : NULL;
}

int block_begin(bool must)
{
	struct drover_pool *pool = own_pool();

	if (!pool)
		return 0;
	add_seq_cst(&pool->nr_ready, -1);
	add_seq_cst(&pool->nr_active, (uint32_t)-1);
	threads_fill(pool);
	if (!must && !threads_suffice(pool)) {
		block_end();
		return EAGAIN;
	}
	add_relaxed(&pool->blocks, 1);
	wake_if_needed(pool, 1, false);
	return 0;
}

void block_end(void)
{
	struct drover_pool *pool = own_pool();

	if (!pool)
		return;
	add_seq_cst(&pool->nr_active, 1);
	add_seq_cst(&pool->nr_ready, 1);
}

/* ---- looking out ---- */

static bool poll_tasks(void *arg)
{
	struct worker *w = arg;

	w->found = worker_take(w);
	return w->found || load_relaxed(&w->pool->ending) == POOL_OVER;
}

/* Poll for a task. At most one worker polls at a time, if it has a CPU. */
static struct task *look_for_task(struct worker *w)
{
	struct drover_pool *pool = w->pool;
	bool on_small = cpu_is_small(sched_getcpu());
	int64_t begin, most = load_relaxed(&pool->linger[on_small]);

	if (!most || !poll_has_cpu() || swap_relaxed(&pool->polling, 1))
		return NULL;
	w->found = NULL;
	begin = clock_now();
	poll_before_sleep(&w->account, poll_tasks, w, most);
	store_relaxed(&pool->polling, 0);
	count(&w->linger_ns, clock_now() - begin);
	return w->found;
}

/* ---- sleeping ---- */

/* Sleep until another thread has claimed the worker and unparked it. */
static void sleep_idle(struct worker *w)
{
	struct drover_pool *pool = w->pool;
	int cpu = sched_getcpu();

	store_relaxed(&w->parked, true);
	lock_take(&pool->idle_lock);
	w->cpu = cpu;
	w->next_idle = pool->idle;
	pool->idle = w;
	store_seq_cst(&pool->nr_idle, load_relaxed(&pool->nr_idle) + 1);
	add_seq_cst(&pool->nr_active, (uint32_t)-1);
	lock_drop(&pool->idle_lock);
	/*
	 * [P-PUSH], [P-PLACE] After the counts have changed. Meanwhile there
	 * may be work for an idle worker, most likely for this one, as it was
	 * listed last.
	 */
	if (load_seq_cst(&pool->ending) == POOL_OVER)
		wake_all_idle(pool);
	wake_if_needed(pool, 1, false);
	if (load_relaxed(&w->parked))
		count(&w->sleeps, 1);
	while (load_acquire(&w->parked)) /* [P-CLAIM] */
		sleep_on(&w->parked, true, NULL, false, FUTEX_BITSET_MATCH_ANY,
			 &w->account);
	place_after_wake(w);
}

/*
 * The worker has no task or no place: search, sleep, and search again. In here
 * the worker counts as searching whenever it is not idle. Return: NULL if it
 * shall end.
 */
static struct task *await_task(struct worker *w, bool has_place)
{
	struct drover_pool *pool = w->pool;
	struct task *task = NULL;

	add_seq_cst(&pool->nr_searching, 1);
	if (has_place)
		task = look_for_task(w);
	while (!task) {
		add_seq_cst(&pool->nr_searching, (uint32_t)-1);
		sleep_idle(w);
		task = worker_take(w);
		if (!task && load_seq_cst(&pool->ending) == POOL_OVER)
			break;
		/*
		 * Another thread has taken the task that the worker was woken
		 * for. The next task may be close behind.
		 */
		if (!task)
			task = look_for_task(w);
	}
	add_seq_cst(&pool->nr_searching, (uint32_t)-1); /* [P-FOUND] */
	wake_if_needed(pool, WAKE_AT_ONCE, true);
	return task;
}

/*
 * The thread ends, with the pool or because a task has ended it. In the second
 * case a new thread goes on as this worker. If none can be made and no other
 * thread is left, this thread runs the tasks that are left. If a task has
 * returned in the child of a fork, there is no pool.
 */
static void worker_end(struct worker **w)
{
	struct drover_pool *pool = (*w)->pool;
	const drover_poolattr_t *attr = &pool->attr;

	if (!pool_is_here(pool))
		return;
	if (attr->stop)
		attr->stop((*w)->nr, attr->arg);
	/* From here on the thread no longer acts as that worker. */
	pool_here.worker = NULL;
	if (thread_replace(*w))
		return;
	if (threads_any(pool))
		wake_if_needed(pool, 1, false);
	else
		queues_empty(pool, false);
}

void *worker_main(void *arg)
{
	struct worker *w __attribute__((cleanup(worker_end))) = arg;
	struct drover_pool *pool = w->pool;
	const drover_poolattr_t *attr = &pool->attr;
	struct task *task;
	bool has_place;
	char name[16];

	pool_here.worker = w;
	w->tid = thread_tid();
	w->woken_from = -1;
	begin_as_creator(w);
	snprintf(name, sizeof(name), "%s-%u", pool->name, w->nr);
	pthread_setname_np(pthread_self(), name);
	if (attr->start)
		attr->start(w->nr, attr->arg);
	do {
		has_place = load_relaxed(&pool->nr_active) <=
			    load_relaxed(&pool->nr_workers);
		task = has_place ? worker_take(w) : NULL;
		if (!task)
			task = await_task(w, has_place);
		if (task)
			task_run(pool, task, false);
	} while (task && pool_is_here(pool));
	return NULL;
}
