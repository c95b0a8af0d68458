/* SPDX-License-Identifier: MIT */
/*
 * For suites in which all threads wait for one event, again and again.
 *
 * Each thread waits for the next round, does some work with the mutex held,
 * lets go of the mutex, and comes back to wait. A round lasts from its
 * announcement until all are back.
 */
#ifndef BENCH_HERD_H
#define BENCH_HERD_H

#include <inttypes.h>

#include "bench.h"
#include "impl.h"
#include "peek.h"

/* How a round is announced. */
enum herd_call {
	HERD_FREE, /* broadcast after unlocking */
	HERD_HELD, /* broadcast with the mutex held */
	HERD_EACH, /* a signal for each thread, with the mutex held */
};

struct herd {
	struct impl_mutex lock;
	struct impl_cond go;   /* with lock: the threads wait for a round */
	struct impl_cond back; /* with lock: the main thread, for all of them */
	/* Written under lock; the watchdog peeks. */
	_Atomic uint64_t threads;
	_Atomic uint64_t round;	  /* announced so far */
	_Atomic uint64_t waiting; /* threads that wait for the next */
	uint64_t work;		  /* lock: bench_work() rounds of each thread */
	uint64_t spurious;	  /* lock */
	uint64_t stamp;		  /* lock: when the round was announced */
	bool leave;		  /* lock */
	struct bench_latency *latency; /* lock: until it runs; or NULL */
};

/* Called with the lock held; returns with the lock held, in another round. */
static void herd_await_round(struct herd *herd)
{
	uint64_t seen = get(&herd->round);

	if (count_up(&herd->waiting) == get(&herd->threads))
		impl_cond_signal(&herd->back);
	impl_cond_wait(&herd->go, &herd->lock);
	while (get(&herd->round) == seen) {
		herd->spurious++;
		impl_cond_wait(&herd->go, &herd->lock);
	}
	if (get(&herd->round) != seen + 1)
		bench_wrong(
			"round %" PRIu64
			" was announced to a thread that was in round %" PRIu64,
			get(&herd->round), seen);
}

static void *herd_main(void *arg)
{
	struct herd *herd = arg;

	impl_mutex_lock(&herd->lock);
	for (;;) {
		herd_await_round(herd);
		if (herd->leave)
			break;
		if (herd->latency)
			bench_latency_add(herd->latency,
					  bench_now_ns() - herd->stamp);
		bench_work(herd->work);
		impl_mutex_unlock(&herd->lock);
		impl_mutex_lock(&herd->lock);
	}
	impl_mutex_unlock(&herd->lock);
	return NULL;
}

/* Called with the lock held, and returns so. */
static void herd_announce(struct herd *herd, enum herd_call call)
{
	set(&herd->round, get(&herd->round) + 1);
	set(&herd->waiting, 0);
	if (herd->latency)
		herd->stamp = bench_now_ns();
	switch (call) {
	case HERD_FREE:
		impl_mutex_unlock(&herd->lock);
		impl_cond_broadcast(&herd->go);
		impl_mutex_lock(&herd->lock);
		break;
	case HERD_HELD:
		impl_cond_broadcast(&herd->go);
		break;
	case HERD_EACH:
		for (uint64_t i = 0; i < get(&herd->threads); i++)
			impl_cond_signal(&herd->go);
		break;
	}
}

/* Called with the lock held, and returns so. */
static void herd_await_all(struct herd *herd)
{
	while (get(&herd->waiting) < get(&herd->threads))
		impl_cond_wait(&herd->back, &herd->lock);
}

static uint64_t herd_progress(void *arg)
{
	struct herd *herd = arg;

	return get(&herd->round) * (get(&herd->threads) + 1) +
	       get(&herd->waiting);
}

static void herd_explain(void *arg)
{
	struct herd *herd = arg;

	bench_error("round %" PRIu64 ": %" PRIu64 " of %" PRIu64
		    " threads came back",
		    get(&herd->round), get(&herd->waiting),
		    get(&herd->threads));
}

/* The whole run: @measure is called with the lock held and all waiting. */
static enum bench_exit herd_run(struct bench_run *run, struct herd *herd,
				void (*measure)(struct bench_run *run,
						struct herd *herd,
						const void *args),
				const void *args)
{
	struct bench_watch watch = { herd_progress, herd_explain, herd };
	struct bench_threads threads;
	bool started;

	if (!bench_watchdog_start(&watch, run->common->watchdog))
		return BENCH_FAILED;
	impl_mutex_init(&herd->lock);
	impl_cond_init(&herd->go);
	impl_cond_init(&herd->back);

	started = bench_threads_start(&threads, get(&herd->threads),
				      run->common->stack, herd_main, herd, 0);
	impl_mutex_lock(&herd->lock);
	set(&herd->threads, threads.started);
	herd_await_all(herd);
	if (started)
		measure(run, herd, args);
	herd->leave = true;
	herd_announce(herd, HERD_HELD);
	run->spurious = herd->spurious;
	impl_mutex_unlock(&herd->lock);
	bench_threads_join(&threads);
	bench_watchdog_stop();

	impl_cond_destroy(&herd->back);
	impl_cond_destroy(&herd->go);
	impl_mutex_destroy(&herd->lock);
	return started ? BENCH_OK : BENCH_FAILED;
}

#endif
