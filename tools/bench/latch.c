// SPDX-License-Identifier: MIT
/*
 * latch - a start gun: once all threads have arrived, one broadcast lets them
 * go, and they run on to the next latch.
 *
 * A latch is used once, and then destroyed and made anew. So no thread comes
 * back to lock the mutex, while other threads may still be queued on it. There
 * are two latches, used in turn. When all threads have arrived at one, the
 * other is empty.
 */
#include <inttypes.h>

#include "bench.h"
#include "impl.h"
#include "peek.h"

struct args {
	uint64_t threads, rounds;
	bool keep;
};

struct latch {
	_Alignas(64) struct impl_mutex lock;
	struct impl_cond open; /* with lock: the threads wait on it */
	struct impl_cond full; /* with lock: the main thread waits on it */
	bool is_open;	       /* lock */
	/* Written under lock; the watchdog peeks. */
	_Atomic uint64_t arrived;
};

struct track {
	const struct args *args;
	struct latch latches[2];
	bool leave;		   /* set before the last latch is opened */
	_Atomic uint64_t fired;	   /* by the main thread; the watchdog peeks */
	_Atomic uint64_t spurious; /* each thread adds its own, at its end */
};

static void latch_init(struct latch *latch)
{
	impl_mutex_init(&latch->lock);
	impl_cond_init(&latch->open);
	impl_cond_init(&latch->full);
	latch->is_open = false;
	set(&latch->arrived, 0);
}

static void latch_destroy(struct latch *latch)
{
	impl_cond_destroy(&latch->full);
	impl_cond_destroy(&latch->open);
	impl_mutex_destroy(&latch->lock);
}

/* Returns how often the wait returned while the latch was shut. */
static uint64_t pass(struct track *track, struct latch *latch)
{
	uint64_t spurious = 0;

	impl_mutex_lock(&latch->lock);
	if (latch->is_open && !track->leave)
		bench_wrong("latch %" PRIu64 " was open before all had arrived",
			    get(&track->fired));
	if (count_up(&latch->arrived) == track->args->threads)
		impl_cond_signal(&latch->full);
	if (!latch->is_open)
		impl_cond_wait(&latch->open, &latch->lock);
	while (!latch->is_open) {
		spurious++;
		impl_cond_wait(&latch->open, &latch->lock);
	}
	impl_mutex_unlock(&latch->lock);
	return spurious;
}

static void *runner_main(void *arg)
{
	struct track *track = arg;
	uint64_t spurious = 0;

	for (unsigned int i = 0; !i || !track->leave; i++)
		spurious += pass(track, &track->latches[i & 1]);
	atomic_fetch_add_explicit(&track->spurious, spurious,
				  memory_order_relaxed);
	return NULL;
}

static void await_all(struct track *track, struct latch *latch)
{
	impl_mutex_lock(&latch->lock);
	while (get(&latch->arrived) < track->args->threads)
		impl_cond_wait(&latch->full, &latch->lock);
	impl_mutex_unlock(&latch->lock);
}

static void fire(struct track *track, struct latch *latch)
{
	bool keep = track->args->keep;

	impl_mutex_lock(&latch->lock);
	latch->is_open = true;
	set(&track->fired, get(&track->fired) + 1);
	if (!keep)
		impl_mutex_unlock(&latch->lock);
	impl_cond_broadcast(&latch->open);
	if (keep)
		impl_mutex_unlock(&latch->lock);
}

static void measure(struct bench_run *run, struct track *track)
{
	await_all(track, &track->latches[0]);
	bench_begin(run);
	for (uint64_t i = 0; i < track->args->rounds; i++) {
		struct latch *used = &track->latches[i & 1];

		fire(track, used);
		await_all(track, &track->latches[!(i & 1)]);
		latch_destroy(used);
		latch_init(used);
	}
	bench_end(run);
	run->operations = track->args->threads * track->args->rounds;
}

/*
 * Fire the next latch a last time, with leave set. After a failed start that is
 * the first latch.
 */
static void send_home(struct track *track)
{
	struct latch *last = &track->latches[get(&track->fired) & 1];

	impl_mutex_lock(&last->lock);
	track->leave = true;
	impl_mutex_unlock(&last->lock);
	fire(track, last);
}

static uint64_t progress(void *arg)
{
	struct track *track = arg;

	return get(&track->fired) * (track->args->threads + 1) +
	       get(&track->latches[get(&track->fired) & 1].arrived);
}

static void explain(void *arg)
{
	struct track *track = arg;
	uint64_t fired = get(&track->fired);

	bench_error("%" PRIu64 " of %" PRIu64 " latches fired, %" PRIu64
		    " of %" PRIu64 " threads arrived at the next",
		    fired, track->args->rounds,
		    get(&track->latches[fired & 1].arrived),
		    track->args->threads);
}

static enum bench_exit run(struct bench_run *run, const void *args)
{
	struct track track = { .args = args };
	struct bench_watch watch = { progress, explain, &track };
	struct bench_threads threads;
	bool started;

	if (!bench_watchdog_start(&watch, run->common->watchdog))
		return BENCH_FAILED;
	latch_init(&track.latches[0]);
	latch_init(&track.latches[1]);
	started = bench_threads_start(&threads, track.args->threads,
				      run->common->stack, runner_main, &track,
				      0);
	if (started)
		measure(run, &track);
	send_home(&track);
	bench_threads_join(&threads);
	bench_watchdog_stop();
	run->spurious = get(&track.spurious);
	latch_destroy(&track.latches[1]);
	latch_destroy(&track.latches[0]);
	return started ? BENCH_OK : BENCH_FAILED;
}

static void print(FILE *out, const struct bench_run *run, const void *args)
{
	const struct args *a = args;

	(void)run;
	fprintf(out, "%" PRIu64 " latches of %" PRIu64 " threads%s", a->rounds,
		a->threads, a->keep ? " (mutex kept)" : "");
}

static const struct bench_option options[] = {
	BENCH_THREADS_OPTION(1, "threads that wait"),
	BENCH_ROUNDS_OPTION("latches, one after the other"),
	BENCH_KEEP_OPTION,
	{ 0 }
};

BENCH_SUITE(.name = "latch",
	    .summary = "Let THREADS threads go at once, by a latch used once.",
	    .operation = "waiter and round",
	    .switches_key = "switches_per_waiter_round");
