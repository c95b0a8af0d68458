/* SPDX-License-Identifier: MIT */
/*
 * For suites in which all threads wait for one event, again and again.
 *
 * Each thread waits for the next round, does some work with the mutex held,
 * unlocks the mutex, and comes back to wait. A round lasts from its
 * announcement until all threads are back.
 */
#ifndef BENCH_WAITERS_H
#define BENCH_WAITERS_H

#include <inttypes.h>

#include "bench.h"
#include "impl.h"
#include "peek.h"

/* How a round is announced. */
enum waiters_call {
	WAITERS_FREE, /* broadcast after unlocking */
	WAITERS_HELD, /* broadcast with the mutex held */
	WAITERS_EACH, /* a signal for each thread, with the mutex held */
};

struct waiters {
	struct impl_mutex lock;
	struct impl_cond go;   /* with lock: the threads wait for a round */
	struct impl_cond back; /* with lock: the main thread waits for all */
	/* Written under lock; the watchdog peeks. */
	_Atomic uint64_t threads;
	_Atomic uint64_t round;	  /* rounds announced so far */
	_Atomic uint64_t waiting; /* threads that wait for the next round */
	uint64_t work;		  /* lock: bench_work() rounds of each thread */
	uint64_t spurious;	  /* lock */
	uint64_t stamp;		  /* lock: when the round was announced */
	bool leave;		  /* lock */
	struct bench_latency *latency; /* lock: until a thread runs; or NULL */
};

/* The caller holds the lock, and holds it again in the next round. */
static void waiters_await_round(struct waiters *waiters)
{
	uint64_t seen = get(&waiters->round);

	if (count_up(&waiters->waiting) == get(&waiters->threads))
		impl_cond_signal(&waiters->back);
	impl_cond_wait(&waiters->go, &waiters->lock);
	while (get(&waiters->round) == seen) {
		waiters->spurious++;
		impl_cond_wait(&waiters->go, &waiters->lock);
	}
	if (get(&waiters->round) != seen + 1)
		bench_wrong(
			"round %" PRIu64
			" was announced to a thread that was in round %" PRIu64,
			get(&waiters->round), seen);
}

static void *waiters_main(void *arg)
{
	struct waiters *waiters = arg;

	impl_mutex_lock(&waiters->lock);
	for (;;) {
		waiters_await_round(waiters);
		if (waiters->leave)
			break;
		if (waiters->latency)
			bench_latency_add(waiters->latency,
					  bench_now_ns() - waiters->stamp);
		bench_work(waiters->work);
		impl_mutex_unlock(&waiters->lock);
		impl_mutex_lock(&waiters->lock);
	}
	impl_mutex_unlock(&waiters->lock);
	return NULL;
}

/* The caller holds the lock before and after the call. */
static void waiters_announce(struct waiters *waiters, enum waiters_call call)
{
	set(&waiters->round, get(&waiters->round) + 1);
	set(&waiters->waiting, 0);
	if (waiters->latency)
		waiters->stamp = bench_now_ns();
	switch (call) {
	case WAITERS_FREE:
		impl_mutex_unlock(&waiters->lock);
		impl_cond_broadcast(&waiters->go);
		impl_mutex_lock(&waiters->lock);
		break;
	case WAITERS_HELD:
		impl_cond_broadcast(&waiters->go);
		break;
	case WAITERS_EACH:
		for (uint64_t i = 0; i < get(&waiters->threads); i++)
			impl_cond_signal(&waiters->go);
		break;
	}
}

/* The caller holds the lock before and after the call. */
static void waiters_await_all(struct waiters *waiters)
{
	while (get(&waiters->waiting) < get(&waiters->threads))
		impl_cond_wait(&waiters->back, &waiters->lock);
}

static uint64_t waiters_progress(void *arg)
{
	struct waiters *waiters = arg;

	return get(&waiters->round) * (get(&waiters->threads) + 1) +
	       get(&waiters->waiting);
}

static void waiters_explain(void *arg)
{
	struct waiters *waiters = arg;

	bench_error("round %" PRIu64 ": %" PRIu64 " of %" PRIu64
		    " threads came back",
		    get(&waiters->round), get(&waiters->waiting),
		    get(&waiters->threads));
}

/*
 * The whole run. @measure is called with the lock held, when all threads wait.
 */
static enum bench_exit
waiters_run(struct bench_run *run, struct waiters *waiters,
	    void (*measure)(struct bench_run *run, struct waiters *waiters,
			    const void *args),
	    const void *args)
{
	struct bench_watch watch = { waiters_progress, waiters_explain,
				     waiters };
	struct bench_threads threads;
	bool started;

	if (!bench_watchdog_start(&watch, run->common->watchdog))
		return BENCH_FAILED;
	impl_mutex_init(&waiters->lock);
	impl_cond_init(&waiters->go);
	impl_cond_init(&waiters->back);

	started = bench_threads_start(&threads, get(&waiters->threads),
				      run->common->stack, waiters_main, waiters,
				      0);
	impl_mutex_lock(&waiters->lock);
	set(&waiters->threads, threads.started);
	waiters_await_all(waiters);
	if (started)
		measure(run, waiters, args);
	waiters->leave = true;
	waiters_announce(waiters, WAITERS_HELD);
	run->spurious = waiters->spurious;
	impl_mutex_unlock(&waiters->lock);
	bench_threads_join(&threads);
	bench_watchdog_stop();

	impl_cond_destroy(&waiters->back);
	impl_cond_destroy(&waiters->go);
	impl_mutex_destroy(&waiters->lock);
	return started ? BENCH_OK : BENCH_FAILED;
}

#endif
