// SPDX-License-Identifier: MIT
/*
 * Where a worker wakes up. It must not wake up on the CPU on which its waker
 * goes on to be busy: pool-design.rst says why, and how this is prevented. It
 * costs two system calls and no migration.
 *
 * Affinities of more than CPU_SETSIZE CPUs are left alone, because the kernel
 * does not report them in a cpu_set_t.
 */
#include <string.h>

#include "pool/pool.h"

/* After a worker woke up on its waker's CPU, so many wake-ups are placed. */
#define LOOK_AFTER 256

/*
 * Is there a CPU for each thread that is awake? The worker that is about to be
 * woken counts as awake, and so does a caller that is not a worker.
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
 * The affinity may have been all the CPUs that the system lets the process
 * have. Then it has to grow with them, so the worker first asks for all CPUs.
 * If the affinity then differs from the old one, the old one was narrower, and
 * the worker sets it again.
 */
static void put_back(struct worker *w)
{
	cpu_set_t now, all;

	memset(&all, 0xff, sizeof(all));
	/* If somebody else has changed the affinity meanwhile, it stays. */
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
		if (left) /* may lose a count to another worker: harmless */
			store_relaxed(&pool->look_after, left - 1);
	} else if (w->woken_from >= 0 && sched_getcpu() == w->woken_from) {
		store_relaxed(&pool->look_after, LOOK_AFTER);
	}
	w->moved = false;
	w->woken_from = -1;
}
