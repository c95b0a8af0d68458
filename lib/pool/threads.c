// SPDX-License-Identifier: MIT
/*
 * The threads of a pool: how they are made, how many there are, how they end.
 */
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "pool/pool.h"

/* How often a pool at work looks at the CPUs. */
#define FOLLOW_EVERY NS_PER_S

/* The kernel's SCHED_FLAG_RESET_ON_FORK */
#define RESET_ON_FORK 1

/* ---- what the threads begin with ---- */

/* Ask the kernel, for the calling thread; musl has no function for that. */
static bool get_scheduling(struct scheduling *of)
{
	return !syscall(SYS_sched_getattr, 0, of, sizeof(*of), 0);
}

void remember_creator(struct drover_pool *pool)
{
	struct scheduling *of = &pool->scheduling;

	if (sched_getaffinity(0, sizeof(pool->cpus), &pool->cpus))
		CPU_ZERO(&pool->cpus);
	/*
	 * With this flag the threads of the creator do not inherit its policy.
	 */
	if (!get_scheduling(of) || of->flags & RESET_ON_FORK)
		of->size = 0;
	memset(of->deadline, 0, sizeof(of->deadline));
}

/*
 * The calling thread makes a worker. Does it have the affinity and the policy
 * that the creator had? It may not, if it is a worker whose task has set its
 * own.
 */
static bool is_as_creator(const struct drover_pool *pool)
{
	struct scheduling own;
	cpu_set_t cpus;

	if (!pool->attr.nr_cpu_sets &&
	    !sched_getaffinity(0, sizeof(cpus), &cpus) &&
	    !CPU_EQUAL(&cpus, &pool->cpus))
		return false;
	return !pool->scheduling.size || !get_scheduling(&own) ||
	       !memcmp(&own, &pool->scheduling,
		       offsetof(struct scheduling, deadline));
}

/*
 * If its maker had the affinity and the policy of the creator, the new thread
 * keeps what it has inherited: the program may have changed that from outside
 * since. Otherwise the new thread gets what the creator had. Errors are
 * ignored, since the system may refuse a policy.
 */
void begin_as_creator(struct worker *w)
{
	struct scheduling *wanted = &w->pool->scheduling;

	if (w->inherits)
		return;
	if (CPU_COUNT(&w->allowed))
		sched_setaffinity(0, sizeof(w->allowed), &w->allowed);
	if (wanted->size)
		syscall(SYS_sched_setattr, 0, wanted, 0);
}

/* ---- more and fewer ---- */

/* Signals of the program go to its other threads. */
static void block_signals(sigset_t *old)
{
	static const int of_instructions[] = { SIGSEGV, SIGBUS,	 SIGFPE,
					       SIGILL,	SIGTRAP, SIGSYS };
	sigset_t all;

	sigfillset(&all);
	for (int i = 0; i < 6; i++)
		sigdelset(&all, of_instructions[i]);
	pthread_sigmask(SIG_SETMASK, &all, old);
}

static int make_thread(struct worker *w)
{
	const drover_poolattr_t *of = &w->pool->attr;
	const cpu_set_t *sets = w->pool->cpu_sets;
	pthread_t self = pthread_self();
	pthread_attr_t attr;
	sigset_t signals;
	pthread_t thread;
	cpu_set_t cpus;
	int err = pthread_attr_init(&attr);

	if (err)
		return err;
	if (of->stack)
		err = pthread_attr_setstacksize(&attr, of->stack);
	w->allowed = of->nr_cpu_sets ? sets[w->nr % of->nr_cpu_sets] :
				       w->pool->cpus;
	w->inherits = is_as_creator(w->pool);
	/* A thread begins with the CPUs and the signals of its maker. */
	if (!err && of->nr_cpu_sets)
		err = pthread_getaffinity_np(self, sizeof(cpus), &cpus) ?:
			      pthread_setaffinity_np(self, sizeof(cpus),
						     &w->allowed);
	if (!err) {
		block_signals(&signals);
		err = pthread_create(&thread, &attr, worker_main, w);
		pthread_sigmask(SIG_SETMASK, &signals, NULL);
		if (of->nr_cpu_sets)
			pthread_setaffinity_np(self, sizeof(cpus), &cpus);
	}
	pthread_attr_destroy(&attr);
	if (!err)
		w->thread = thread;
	return err;
}

/* Make one more thread, which is active at once: it searches. [grow] */
static int add_thread(struct drover_pool *pool)
{
	struct worker *w = aligned_alloc(128, sizeof(*w));
	int err;

	if (!w)
		return ENOMEM;
	memset(w, 0, sizeof(*w));
	w->pool = pool;
	w->next = load_relaxed(&pool->threads);
	w->nr = w->next ? w->next->nr + 1 : 0;
	add_seq_cst(&pool->nr_active, 1);
	err = make_thread(w);
	if (err) {
		add_seq_cst(&pool->nr_active, (uint32_t)-1);
		free(w);
		return err;
	}
	store_release(&pool->threads, w); /* [P-THREADS] */
	add_relaxed(&pool->nr_threads, 1);
	add_seq_cst(&pool->nr_ready, 1);
	return 0;
}

/* nr_ready is below 0 if a new thread is blocked before it is counted. */
static bool enough(struct drover_pool *pool)
{
	return load_seq_cst(&pool->nr_ready) >=
	       (int32_t)load_relaxed(&pool->nr_workers);
}

int threads_fill(struct drover_pool *pool)
{
	int saved = errno, err = 0;

	if (enough(pool))
		return 0;
	lock_take(&pool->grow);
	while (!err && !enough(pool)) {
		uint32_t most =
			load_relaxed(&pool->nr_workers) + pool->attr.spares;

		err = EAGAIN;
		if (load_relaxed(&pool->ending) != POOL_OVER &&
		    load_relaxed(&pool->nr_threads) < most)
			err = add_thread(pool);
	}
	lock_drop(&pool->grow);
	errno = saved;
	return err;
}

bool threads_any(struct drover_pool *pool)
{
	return load_relaxed(&pool->nr_threads) || !threads_fill(pool);
}

bool thread_replace(struct worker *w)
{
	struct drover_pool *pool = w->pool;
	bool over;
	int err;

	lock_take(&pool->grow);
	over = load_relaxed(&pool->ending) == POOL_OVER;
	err = over ? 0 : make_thread(w);
	if (err) {
		add_relaxed(&pool->nr_threads, (uint32_t)-1);
		add_seq_cst(&pool->nr_ready, -1);
		add_seq_cst(&pool->nr_active, (uint32_t)-1);
	} else if (!over) {
		pthread_detach(pthread_self());
	}
	lock_drop(&pool->grow);
	return !err;
}

void threads_end(struct drover_pool *pool)
{
	int state;

	lock_take(&pool->grow);
	/* [P-PUSH] A worker that falls asleep sees this, or is woken below. */
	store_seq_cst(&pool->ending, POOL_OVER);
	lock_drop(&pool->grow);
	wake_all_idle(pool);
	/*
	 * pthread_join() is a cancellation point, and no function of a pool may
	 * be one.
	 */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	for (struct worker *w = load_relaxed(&pool->threads); w; w = w->next)
		pthread_join(w->thread, NULL);
	pthread_setcancelstate(state, &state);
}

/* ---- how many threads there are ---- */

/*
 * Count the CPUs of all workers together, as one worker may have been given
 * fewer by its task. With cpu_sets, and before there are workers, the creator's
 * CPUs count. A worker that is being woken may lack a CPU (place.c), so the
 * CPUs are written down only if the caller is a worker. [grow]
 */
static uint32_t count_cpus(struct drover_pool *pool)
{
	struct worker *w = load_relaxed(&pool->threads);
	cpu_set_t all, one;

	if (pool->attr.nr_cpu_sets || !w ||
	    load_relaxed(&pool->ending) == POOL_OVER) /* w->thread is joined */
		return CPU_COUNT(&pool->cpus);
	CPU_ZERO(&all);
	for (; w; w = w->next)
		if (!pthread_getaffinity_np(w->thread, sizeof(one), &one))
			CPU_OR(&all, &all, &one);
	if (pool_self(pool))
		pool->cpus = all;
	return CPU_COUNT(&all);
}

/*
 * Set how many workers may be active. There are never fewer than gangs need: a
 * part of a gang could wait for ever for a worker that may not run. [grow]
 */
static void set_places(struct drover_pool *pool)
{
	uint32_t cpus = load_relaxed(&pool->nr_cpus);
	uint32_t nr = load_relaxed(&pool->wanted) ?: cpus;

	store_seq_cst(&pool->nr_workers,
		      MAX(nr, load_relaxed(&pool->nr_ganged)));
}

int threads_set(struct drover_pool *pool)
{
	uint32_t usable = poll_count_cpus(), cpus;
	int err;

	lock_take(&pool->grow);
	cpus = MIN(count_cpus(pool) ?: usable, usable);
	store_relaxed(&pool->nr_cpus, cpus);
	set_places(pool);
	lock_drop(&pool->grow);
	store_relaxed(&pool->looked_at, clock_now());
	err = threads_fill(pool);
	wake_if_needed(pool, load_relaxed(&pool->nr_workers), false);
	return err;
}

int drover_pool_resize(drover_pool_t *pool, uint32_t workers)
{
	int err;

	if (!pool_is_here(pool))
		return ECHILD;
	if (workers > DROVER_POOL_MAX)
		return EINVAL;
	store_relaxed(&pool->wanted, workers);
	err = threads_set(pool);
	return load_relaxed(&pool->ending) == POOL_OVER ? ESHUTDOWN : err;
}

void threads_follow(struct drover_pool *pool)
{
	int64_t now = clock_now(), at = load_relaxed(&pool->looked_at);

	if (!load_relaxed(&pool->wanted) && now - at >= FOLLOW_EVERY &&
	    cas_relaxed(&pool->looked_at, &at, now))
		threads_set(pool);
}

/*
 * [P-GANG] A gang adds itself to nr_ganged, then reads nr_ready. A worker that
 * blocks takes itself off nr_ready, then reads nr_ganged. This is store
 * buffering, so both sides are sequentially consistent; otherwise a gang could
 * have too few threads.
 */
bool threads_suffice(struct drover_pool *pool)
{
	return load_seq_cst(&pool->nr_ready) >=
	       MAX((int32_t)load_seq_cst(&pool->nr_ganged), 1);
}

void threads_give_back(struct drover_pool *pool, size_t nr)
{
	lock_take(&pool->grow);
	sub_seq_cst(&pool->nr_ganged, (uint32_t)nr);
	set_places(pool);
	lock_drop(&pool->grow);
}

int threads_keep(struct drover_pool *pool, size_t nr)
{
	bool left;

	lock_take(&pool->grow);
	left = nr <=
	       load_relaxed(&pool->nr_workers) - load_relaxed(&pool->nr_ganged);
	if (left)
		add_seq_cst(&pool->nr_ganged, (uint32_t)nr); /* [P-GANG] */
	lock_drop(&pool->grow);
	if (!left)
		return EAGAIN;
	threads_fill(pool);
	if (threads_suffice(pool))
		return 0;
	threads_give_back(pool, nr);
	return EAGAIN;
}
