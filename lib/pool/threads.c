// SPDX-License-Identifier: MIT
/* The threads of a pool: how they are made, how many, and their end. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/thread.h"
#include "pool/pool.h"

#define LINGER_SMALL (10 * NS_PER_US)
#define SPARES	     256

/* How often a pool at work looks at the CPUs. */
#define FOLLOW_EVERY NS_PER_S

static int64_t linger_of(uint32_t us, int64_t unless)
{
	if (us == DROVER_POOL_NO_LINGER)
		return 0;
	return us ? us * NS_PER_US : unless;
}

static uint32_t spares_of(uint32_t spares)
{
	if (spares == DROVER_POOL_NO_SPARES)
		return 0;
	return spares ? spares : SPARES;
}

/* One CPU of those the caller may use for each set: how many; 0: no memory. */
static uint32_t sets_of_one(cpu_set_t **sets)
{
	uint32_t nr = 0;
	cpu_set_t all;

	*sets = NULL;
	if (!sched_getaffinity(0, sizeof(all), &all))
		*sets = calloc(CPU_COUNT(&all), sizeof(**sets));
	for (int cpu = 0; *sets && cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &(*sets)[nr++]);
	return nr;
}

static int copy_sets(drover_poolattr_t *attr)
{
	size_t bytes = attr->nr_cpu_sets * sizeof(cpu_set_t);
	cpu_set_t *sets = NULL;

	if (bytes) {
		sets = malloc(bytes);
		if (sets)
			memcpy(sets, attr->cpu_sets, bytes);
	} else if (attr->flags & DROVER_POOL_PIN) {
		attr->nr_cpu_sets = sets_of_one(&sets);
	}
	attr->cpu_sets = sets;
	return sets || !(bytes || attr->flags & DROVER_POOL_PIN) ? 0 : ENOMEM;
}

int setup_copy(struct setup *setup, const drover_poolattr_t *attr)
{
	setup->attr = *attr;
	setup->attr.spares = spares_of(attr->spares);
	setup->linger = linger_of(attr->linger_us, INT64_MAX);
	setup->linger_small = linger_of(attr->linger_small_us, LINGER_SMALL);
	setup->life = fork_generation;
	snprintf(setup->name, sizeof(setup->name), "%s",
		 attr->name ? attr->name : "pool");
	return copy_sets(&setup->attr);
}

void setup_free(struct setup *setup)
{
	free((void *)setup->attr.cpu_sets);
}

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

static int make_thread(struct worker *w, const drover_poolattr_t *of)
{
	const cpu_set_t *sets = of->cpu_sets;
	pthread_attr_t attr;
	sigset_t signals;
	int err = pthread_attr_init(&attr);

	if (err)
		return err;
	if (of->stack)
		err = pthread_attr_setstacksize(&attr, of->stack);
	if (!err && sets)
		err = pthread_attr_setaffinity_np(
			&attr, sizeof(*sets), &sets[w->nr % of->nr_cpu_sets]);
	if (!err) {
		block_signals(&signals);
		err = pthread_create(&w->thread, &attr, worker_main, w);
		pthread_sigmask(SIG_SETMASK, &signals, NULL);
	}
	pthread_attr_destroy(&attr);
	return err;
}

/* With the lock of growing. The new thread is active: it searches. */
static int add_thread(struct drover_pool *pool)
{
	struct worker *w = aligned_alloc(128, sizeof(*w));
	uint32_t nr = load_relaxed(&pool->nr_threads);
	int err;

	if (!w)
		return ENOMEM;
	memset(w, 0, sizeof(*w));
	w->pool = pool;
	w->nr = nr;
	w->next = load_relaxed(&pool->threads);
	add_seq_cst(&pool->nr_active, 1);
	err = make_thread(w, &pool->setup.attr);
	if (err) {
		add_seq_cst(&pool->nr_active, (uint32_t)-1);
		free(w);
		return err;
	}
	store_release(&pool->threads, w); /* [P-THREADS] */
	store_seq_cst(&pool->nr_threads, nr + 1);
	return 0;
}

static bool enough(struct drover_pool *pool)
{
	return load_seq_cst(&pool->nr_threads) >=
	       load_seq_cst(&pool->nr_blocked) +
		       load_relaxed(&pool->nr_workers);
}

int threads_fill(struct drover_pool *pool)
{
	int saved = errno, err = 0;

	if (enough(pool))
		return 0;
	lock_take(&pool->grow);
	while (!err && !enough(pool)) {
		uint32_t most = load_relaxed(&pool->nr_workers) +
				pool->setup.attr.spares;

		err = EAGAIN;
		if (!load_relaxed(&pool->over) &&
		    load_relaxed(&pool->nr_threads) < most)
			err = add_thread(pool);
	}
	lock_drop(&pool->grow);
	errno = saved;
	return err;
}

void threads_end(struct drover_pool *pool)
{
	int state;

	lock_take(&pool->grow);
	/* [P-PUSH] A worker that falls asleep looks at it, or is woken here. */
	store_seq_cst(&pool->over, 1);
	lock_drop(&pool->grow);
	wake_all_idle(pool);
	/* To join is a cancellation point, and no function of a pool is. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	for (struct worker *w = load_relaxed(&pool->threads); w; w = w->next)
		pthread_join(w->thread, NULL);
	pthread_setcancelstate(state, &state);
}

/* ---- how many ---- */

int threads_set(struct drover_pool *pool, uint32_t nr)
{
	cpus_forget();
	store_relaxed(&pool->nr_cpus, cpus_usable());
	store_relaxed(&pool->looked_at, clock_now());
	store_relaxed(&pool->follows, !nr);
	store_seq_cst(&pool->nr_workers, nr ?: load_relaxed(&pool->nr_cpus));
	return threads_fill(pool);
}

int drover_pool_resize(drover_pool_t *pool, uint32_t workers)
{
	int err;

	if (!pool_is_here(pool))
		return ECHILD;
	if (workers > DROVER_POOL_MAX)
		return EINVAL;
	err = threads_set(pool, workers);
	wake_if_needed(pool, load_relaxed(&pool->nr_workers), false);
	return load_relaxed(&pool->over) ? ESHUTDOWN : err;
}

void threads_follow(struct drover_pool *pool)
{
	int64_t now = clock_now(), at = load_relaxed(&pool->looked_at);

	if (!load_relaxed(&pool->follows) || now - at < FOLLOW_EVERY ||
	    !cas_relaxed(&pool->looked_at, &at, now))
		return;
	if (cpus_usable() != load_relaxed(&pool->nr_workers))
		drover_pool_resize(pool, 0);
}
