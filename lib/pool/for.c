// SPDX-License-Identifier: MIT
/*
 * A loop over a range: the caller and as many tasks as may help take parts,
 * one after the other, until there are none left. The tasks lie on the caller's
 * stack; those that nobody has begun when the parts are given out it runs
 * itself, which is then nothing.
 *
 * At first there are as many as can run beside the caller. One more of them
 * would take the CPU from one that has a part in its hands, and the caller waits
 * for all. If the loop takes long, its parts may be such that sleep, and all
 * workers are asked.
 */
#include "base/clock.h"
#include "pool/pool.h"

#define MOST_HELPERS 64
#define LONG	     (1000 * NS_PER_US)

/* Parts for each thread, so that one that is late makes little difference. */
#define PARTS_EACH 4

struct loop {
	int (*function)(size_t begin, size_t end, void *arg);
	void *arg;
	size_t begin, end, grain, nr_parts;
	_Atomic size_t next; /* part; grows beyond nr_parts, by one a thread */
	_Atomic int result;
};

/* Run one part; false: none was left, or one has failed. */
static bool loop_step(struct loop *loop)
{
	size_t part, begin, end;
	int result, none = 0;

	if (load_relaxed(&loop->result))
		return false;
	part = add_relaxed(&loop->next, 1);
	if (part >= loop->nr_parts)
		return false;
	begin = loop->begin + part * loop->grain;
	end = loop->end - begin > loop->grain ? begin + loop->grain : loop->end;
	result = loop->function(begin, end, loop->arg);
	if (result)
		cas_relaxed(&loop->result, &none, result);
	return true;
}

static int loop_run(void *arg)
{
	while (loop_step(arg))
		;
	return 0;
}

static void divide(struct loop *loop, size_t grain, unsigned int nr_threads)
{
	size_t nr = loop->end - loop->begin;

	loop->grain = grain ? grain : nr / (nr_threads * PARTS_EACH);
	if (loop->grain < nr / (SIZE_MAX / 2))
		loop->grain = 2;
	if (!loop->grain)
		loop->grain = 1;
	loop->nr_parts = nr / loop->grain + (nr % loop->grain != 0);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Helpers from number @nr on, up to @most: how many there are then. */
static size_t call_helpers(struct drover_pool *pool, drover_task_t *helpers,
			   size_t nr, size_t most)
{
	if (most <= nr ||
	    pool_submit(pool, (struct task *)&helpers[nr], most - nr, true))
		return nr; /* shut down: all is left to the caller */
	return most;
}

/* The caller's share; how many helpers there were in the end. */
static size_t lead(struct drover_pool *pool, struct loop *loop,
		   drover_task_t *helpers, size_t most)
{
	size_t beside = pool->nr_cpus > 1 ? pool->nr_cpus - 1 : 1;
	size_t nr = call_helpers(pool, helpers, 0, least(most, beside));
	int64_t begin = nr < most ? clock_now() : 0;

	while (loop_step(loop)) {
		if (nr == most || clock_now() - begin < LONG)
			continue;
		nr = call_helpers(pool, helpers, nr, most);
		most = nr;
	}
	return nr;
}

int drover_pool_for(drover_pool_t *pool, size_t begin, size_t end, size_t grain,
		    int (*function)(size_t begin, size_t end, void *arg),
		    void *arg)
{
	struct loop loop = {
		.function = function, .arg = arg, .begin = begin, .end = end
	};
	drover_task_t helpers[MOST_HELPERS];
	size_t nr;

	if (!pool_is_here(pool))
		return ECHILD;
	if (!function)
		return EINVAL;
	if (begin >= end)
		return 0;
	divide(&loop, grain, pool->nr_workers + 1);
	nr = least(least(pool->nr_workers, MOST_HELPERS), loop.nr_parts - 1);
	for (size_t i = 0; i < nr; i++)
		drover_task_init(&helpers[i], loop_run, &loop);
	nr = lead(pool, &loop, helpers, nr);
	for (size_t i = nr; i--;)
		drover_pool_wait(pool, &helpers[i], NULL);
	return load_relaxed(&loop.result);
}
