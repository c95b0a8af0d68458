// SPDX-License-Identifier: MIT
/*
 * A loop over a range: the caller and as many helpers as there may be take
 * parts, one after the other, until there are none left. The helpers are one
 * task on the caller's stack, which several workers may take; what is left of
 * it when the parts are given out the caller takes back. pool-design.rst says
 * why there are no more of them than can run beside the caller.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "pool/pool.h"

/* Parts for each thread, so that one that is late makes little difference. */
#define PARTS_EACH 4

/* What threads' memory is aligned to. */
#define LINE 64

/* The function of drover_pool_for(). */
typedef int plain_function(size_t begin, size_t end, void *arg);

/* A call of one of the two; all up to scratch is constant. */
struct loop {
	const drover_loop_t *of;
	plain_function *plain; /* instead of its function, or NULL */
	struct drover_pool *pool;
	size_t begin, end, grain, nr_parts;
	size_t most;	/* so many may help; of a gang all do */
	size_t nr_kept; /* workers, for a gang */
	size_t stride;	/* from one thread's scratch to the next */
	char *scratch;
	struct task help;   /* of those that help */
	struct frame frame; /* the caller is inside, if pool_admit() lets it */
	_Atomic uint32_t nr_helpers; /* that have begun: their numbers */
	/* Part; grows beyond nr_parts, by one a thread. */
	_Atomic size_t next __attribute__((aligned(128)));
	_Atomic int result;
};

/* The first result counts. */
static void loop_ends_with(struct loop *loop, int result)
{
	int none = 0;

	cas_relaxed(&loop->result, &none, result);
}

/* Run one part. */
static void run_part(struct loop *loop, size_t begin, size_t end,
		     const drover_part_t *by)
{
	struct drover_pool *pool = loop->pool;
	int result = loop->plain ?
			     loop->plain(begin, end, loop->of->arg) :
			     loop->of->function(begin, end, by, loop->of->arg);

	/* A child of a fork has no helpers, and the helper no loop. */
	if (pool_is_here(pool) && result)
		loop_ends_with(loop, result);
}

/* Take the next part and run it; false: none was left, or one has failed. */
static bool loop_step(struct loop *loop, const drover_part_t *by)
{
	struct drover_pool *pool = loop->pool;
	size_t part, begin, end;

	if (load_relaxed(&loop->result))
		return false;
	part = add_relaxed(&loop->next, 1);
	if (part >= loop->nr_parts)
		return false;
	begin = loop->begin + part * loop->grain;
	end = loop->end - begin > loop->grain ? begin + loop->grain : loop->end;
	run_part(loop, begin, end, by);
	return pool_is_here(pool);
}

/* The share of a thread of a gang; whatever others return, they count on it. */
static void run_share(struct loop *loop, const drover_part_t *by)
{
	size_t len = loop->end - loop->begin, nr = by->threads;
	size_t longer = len % nr; /* so many shares have one index more */
	size_t begin =
		loop->begin + len / nr * by->thread + MIN(by->thread, longer);

	run_part(loop, begin, begin + len / nr + (by->thread < longer), by);
}

static drover_part_t part_of(struct loop *loop, size_t thread)
{
	return (drover_part_t){
		.thread = thread,
		.threads = loop->most + 1,
		.scratch = loop->scratch ?
				   loop->scratch + thread * loop->stride :
				   NULL,
	};
}

static int alloc_scratch(struct loop *loop)
{
	const drover_loop_t *of = loop->of;
	size_t nr = loop->most + 1;

	if (!of->scratch)
		return 0;
	loop->stride = roundup(of->scratch, LINE);
	if (of->scratch <= SIZE_MAX / 2 / nr)
		loop->scratch = aligned_alloc(LINE, nr * loop->stride);
	if (!loop->scratch)
		return ENOMEM;
	memset(loop->scratch, 0, nr * loop->stride);
	for (size_t i = 0; of->total && i < nr; i++)
		memcpy(loop->scratch + i * loop->stride, of->total,
		       of->scratch);
	return 0;
}

/* As long as there is something to do for the thread of this number. */
static void take_part(struct loop *loop, size_t thread)
{
	drover_part_t part = part_of(loop, thread);

	if (loop->of->gang)
		run_share(loop, &part);
	else
		while (loop_step(loop, &part))
			;
}

/* By the end of its thread, unless it came to its own: a part is not done. */
static void help_end(struct loop **loop)
{
	if (*loop)
		loop_ends_with(*loop, ECANCELED);
}

static int help(void *arg)
{
	struct loop *loop __attribute__((cleanup(help_end))) = arg;

	take_part(loop, add_relaxed(&loop->nr_helpers, 1) + 1);
	loop = NULL;
	return 0;
}

/* No thread uses what is on this stack any more. */
static void await_helpers(struct loop *loop)
{
	uint32_t nr;

	if (!pool_is_here(loop->pool))
		return;
	nr = loop->of->gang ? 0 : queue_take_all(loop->pool, &loop->help);
	if (nr) {
		latch_down(&loop->help.unended, nr);
		latch_down(&loop->pool->pending, nr);
	}
	latch_await(&loop->help.unended, NULL, true);
}

static int lead(struct loop *loop)
{
	uint32_t nr = (uint32_t)loop->most;

	if (!pool_admit(loop->pool, 1 + nr))
		frame_enter(&loop->frame, loop->pool);
	else if (loop->of->gang)
		return ESHUTDOWN;
	/* Otherwise all is left to the caller. */
	if (loop->frame.pool && nr) {
		store_relaxed(&loop->help.unended, nr * LATCH_ONE);
		loop->help.left = nr;
		pool_enqueue(loop->pool, &loop->help, &loop->help, nr, true);
	}
	take_part(loop, 0);
	await_helpers(loop);
	return pool_is_here(loop->pool) ? load_relaxed(&loop->result) : ECHILD;
}

/* By a return, an exception or the end of the thread: then no part begins. */
static void loop_end(struct loop *loop)
{
	loop_ends_with(loop, ECANCELED);
	await_helpers(loop);
	free(loop->scratch);
	if (loop->nr_kept && pool_is_here(loop->pool))
		threads_give_back(loop->pool, loop->nr_kept);
	if (loop->frame.pool) {
		frame_leave(&loop->frame);
		latch_down(&loop->pool->pending, 1);
	}
}

/* How many may help, and of how many indices the parts are. */
static void share_out(struct loop *loop)
{
	const drover_loop_t *of = loop->of;
	size_t cpus = load_relaxed(&loop->pool->nr_cpus);
	size_t nr_workers = load_relaxed(&loop->pool->nr_workers);
	size_t len = loop->end - loop->begin;

	loop->most = of->threads ? of->threads - 1 : cpus > 1 ? cpus - 1 : 1;
	if (of->gang)
		return;
	loop->most = MIN(loop->most, nr_workers);
	loop->grain = of->grain ?: len / ((loop->most + 1) * PARTS_EACH);
	loop->grain = MAX(loop->grain, 1);
	loop->nr_parts = (len - 1) / loop->grain + 1;
	loop->most = MIN(loop->most, loop->nr_parts - 1);
}

/* A gang needs its helpers, and the caller's own place if that is a worker. */
static int keep_workers(struct loop *loop)
{
	size_t nr = loop->most + !!pool_self(loop->pool);
	int err;

	if (!loop->of->gang || !loop->most)
		return 0;
	err = threads_keep(loop->pool, nr);
	if (!err)
		loop->nr_kept = nr;
	return err;
}

static int loop_over(drover_pool_t *pool, size_t begin, size_t end,
		     const drover_loop_t *of, plain_function *plain)
{
	int saved = errno, err;

	if (!pool_is_here(pool))
		return ECHILD;
	if (!(of->function || plain) || (of->join && !of->total) ||
	    (of->gang && !of->threads) || of->reserved[0] || of->reserved[1])
		return EINVAL;
	if (begin >= end)
		return 0;

	struct loop loop __attribute__((cleanup(loop_end))) = {
		.of = of,
		.plain = plain,
		.pool = pool,
		.begin = begin,
		.end = end,
		.help = { .function = help,
			  .arg = &loop,
			  .owner = of->gang ? OWNER_GANG : OWNER_LOOP },
	};
	share_out(&loop);
	err = keep_workers(&loop) ?: alloc_scratch(&loop);
	errno = saved;
	if (!err)
		err = lead(&loop);
	for (size_t i = 0; of->join && !err && i <= loop.most; i++)
		of->join(of->total, loop.scratch + i * loop.stride, of->arg);
	return err;
}

int drover_pool_for(drover_pool_t *pool, size_t begin, size_t end, size_t grain,
		    int (*function)(size_t begin, size_t end, void *arg),
		    void *arg)
{
	drover_loop_t loop = { .arg = arg, .grain = grain };

	return loop_over(pool, begin, end, &loop, function);
}

int drover_pool_loop(drover_pool_t *pool, size_t begin, size_t end,
		     const drover_loop_t *loop)
{
	return loop_over(pool, begin, end, loop, NULL);
}
