// SPDX-License-Identifier: MIT
/*
 * A loop over a range: the caller and its helpers take one part after the other
 * until no part is left. All helpers share one task on the caller's stack,
 * which several workers may take. When all parts are given out, the caller
 * takes back the runs of the task that no worker has begun. pool-design.rst
 * says why there are no more helpers than can run beside the caller.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "pool/pool.h"

/*
 * Parts for each thread: several, so that a thread that is late matters little.
 */
#define PARTS_EACH 4

/* The alignment of each thread's scratch memory. */
#define LINE 64

/* The function of drover_pool_for(). */
typedef int plain_function(size_t begin, size_t end, void *arg);

/*
 * One call of drover_pool_for() or drover_pool_loop(). The fields up to scratch
 * are constant once the helpers can run.
 */
struct loop {
	const drover_loop_t *of;
	plain_function *plain; /* called instead of of->function, or NULL */
	struct drover_pool *pool;
	size_t begin, end, grain, nr_parts;
	size_t most;	/* how many helpers may take part; in a gang, all do */
	size_t nr_kept; /* workers that are kept for a gang */
	size_t stride;	/* from one thread's scratch to the next */
	char *scratch;
	struct task help;   /* the task that the helpers run */
	struct frame frame; /* entered if pool_admit() accepts the loop */
	/* Helpers that have begun. Each takes its number from here. */
	_Atomic uint32_t nr_helpers;
	/* The next part. Each thread may add 1 once it is nr_parts. */
	_Atomic size_t next __attribute__((aligned(128)));
	_Atomic int result;
};

/* Set the loop's result, unless it has one: the first result counts. */
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

	/*
	 * The function may have returned in the child of a fork. There the
	 * caller has no helpers, and a helper has no loop to report to.
	 */
	if (pool_is_here(pool) && result)
		loop_ends_with(loop, result);
}

/*
 * Take the next part and run it. Return: false if none is left or one failed.
 */
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

/*
 * Run the share of a thread of a gang. The thread runs it even if another one
 * has failed, because the threads of a gang wait for each other.
 */
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

/* Run parts as thread number @thread until no part is left. */
static void take_part(struct loop *loop, size_t thread)
{
	drover_part_t part = part_of(loop, thread);

	if (loop->of->gang)
		run_share(loop, &part);
	else
		while (loop_step(loop, &part))
			;
}

/*
 * A helper leaves. If *@loop is still set, the helper's thread has ended inside
 * a part, so that part is not done.
 */
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

/* Wait until no helper uses the loop on the caller's stack any more. */
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
	/*
	 * A loop that is not admitted gets no helpers: the caller runs it all.
	 */
	if (loop->frame.pool && nr) {
		store_relaxed(&loop->help.unended, nr * LATCH_ONE);
		loop->help.left = nr;
		pool_enqueue(loop->pool, &loop->help, &loop->help, nr, true);
	}
	take_part(loop, 0);
	await_helpers(loop);
	return pool_is_here(loop->pool) ? load_relaxed(&loop->result) : ECHILD;
}

/*
 * The loop ends by a return, an exception or the end of the thread. No part may
 * begin after that.
 */
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

/* Set how many helpers there may be, and how many indices a part has. */
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

/* A gang needs its helpers. A caller that is a worker needs its place, too. */
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
