// SPDX-License-Identifier: MIT
/*
 * A loop over a range: the caller and as many tasks as may help take parts,
 * one after the other, until there are none left. The tasks lie on the caller's
 * stack; those that nobody has begun when the parts are given out it runs
 * itself, which is then nothing.
 */
#include "pool_internal.h"

#define MOST_HELPERS 64

/* Parts for each thread, so that one that is late makes little difference. */
#define PARTS_EACH 4

struct loop {
	int (*function)(size_t begin, size_t end, void *arg);
	void *arg;
	size_t begin, end, grain, nr_parts;
	_Atomic size_t next; /* part; grows beyond nr_parts, by one a thread */
	_Atomic int result;
};

static int loop_run(void *arg)
{
	struct loop *loop = arg;
	size_t part;

	while (!load_relaxed(&loop->result) &&
	       (part = add_relaxed(&loop->next, 1)) < loop->nr_parts) {
		size_t begin = loop->begin + part * loop->grain;
		size_t end = loop->end - begin > loop->grain ?
				     begin + loop->grain :
				     loop->end;
		int result = loop->function(begin, end, loop->arg), none = 0;

		if (result)
			cas_relaxed(&loop->result, &none, result);
	}
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

int drover_pool_for(drover_pool_t *pool, size_t begin, size_t end, size_t grain,
		    int (*function)(size_t begin, size_t end, void *arg),
		    void *arg)
{
	struct loop loop = {
		.function = function, .arg = arg, .begin = begin, .end = end
	};
	drover_task_t helpers[MOST_HELPERS];
	size_t nr = pool->nr_workers;

	if (!pool_is_here(pool))
		return ECHILD;
	if (!function)
		return EINVAL;
	if (begin >= end)
		return 0;
	divide(&loop, grain, pool->nr_workers + 1);
	nr = nr < MOST_HELPERS ? nr : MOST_HELPERS;
	nr = nr < loop.nr_parts - 1 ? nr : loop.nr_parts - 1;
	for (size_t i = 0; i < nr; i++)
		drover_task_init(&helpers[i], loop_run, &loop);
	if (drover_pool_submit_batch(pool, helpers, nr))
		nr = 0; /* shut down: all is left to the caller */
	loop_run(&loop);
	for (size_t i = nr; i--;)
		drover_pool_wait(pool, &helpers[i], NULL);
	return load_relaxed(&loop.result);
}
