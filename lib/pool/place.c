// SPDX-License-Identifier: MIT
/*
 * Where a worker wakes up: not where the thread that wakes it goes on to be
 * busy (pool-design.rst says why, and how that is done). It costs two system
 * calls and no migration.
 *
 * Affinities of more than CPU_SETSIZE CPUs are left alone: the kernel refuses to
 * tell them.
 */
#include <string.h>

#include "pool/pool.h"

/* So many wake-ups are looked after when a worker was pulled. */
#define LOOK_AFTER 256

/*
 * Does each thread that is awake have a CPU, the caller too, if it is no worker?
 * The one that is about to be woken counts as awake.
 */
static bool has_room(const struct drover_pool *pool)
{
	return load_relaxed(&pool->nr_active) + !pool_self(pool) <=
	       load_relaxed(&pool->nr_cpus);
}

void place_before_wake(struct worker *w, int cpu)
{
	struct drover_pool *pool = w->pool;
	int saved = errno;

	if (cpu < 0 || cpu >= CPU_SETSIZE || !has_room(pool))
		return;
	w->woken_from = cpu;
	if (w->cpu != cpu && !load_relaxed(&pool->look_after))
		return;
	if (!sched_getaffinity(w->tid, sizeof(w->allowed), &w->allowed) &&
	    CPU_ISSET(cpu, &w->allowed) && CPU_COUNT(&w->allowed) > 1) {
		w->lent = w->allowed;
		CPU_CLR(cpu, &w->lent);
		w->moved =
			!sched_setaffinity(w->tid, sizeof(w->lent), &w->lent);
		add_relaxed(&pool->moves, w->moved);
	}
	errno = saved;
}

/*
 * The affinity may have been no narrower than what the system lets the process
 * have; then it is to follow if that grows. So ask for all CPUs first.
 */
static void put_back(struct worker *w)
{
	cpu_set_t now, all;

	memset(&all, 0xff, sizeof(all));
	/* Somebody else has changed it meanwhile: so it stays. */
	if (sched_getaffinity(0, sizeof(now), &now) ||
	    !CPU_EQUAL(&now, &w->lent))
		return;
	if (sched_setaffinity(0, sizeof(all), &all) ||
	    sched_getaffinity(0, sizeof(now), &now) ||
	    !CPU_EQUAL(&now, &w->allowed))
		sched_setaffinity(0, sizeof(w->allowed), &w->allowed);
}

void place_after_wake(struct worker *w)
{
	struct drover_pool *pool = w->pool;
	uint32_t left = load_relaxed(&pool->look_after);

	if (w->moved) {
		put_back(w);
		if (left) /* others may do so, too: it is a guess */
			store_relaxed(&pool->look_after, left - 1);
	} else if (w->woken_from >= 0 && sched_getcpu() == w->woken_from) {
		store_relaxed(&pool->look_after, LOOK_AFTER);
	}
	w->moved = false;
	w->woken_from = -1;
}
