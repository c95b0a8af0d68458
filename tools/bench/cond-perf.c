// SPDX-License-Identifier: MIT
/*
 * cond-perf - all threads wait on one condition variable and are released by
 * one broadcast a round.
 *
 * A round lasts from the broadcast until every thread is back in its wait. Only
 * returns from the wait are counted: no thread looks at a predicate and goes
 * back to sleep. So a lost wakeup leaves the round incomplete, which the
 * watchdog reports. A spurious wakeup makes a thread's count of returns differ
 * from the number of broadcasts.
 */
#include <inttypes.h>
#include <semaphore.h>

#include "bench.h"
#include "impl.h"
#include "peek.h"

struct args {
	uint64_t threads, rounds;
	bool keep, other, latency;
};

struct waiters {
	const struct args *args;

	struct impl_mutex lock;
	struct impl_cond go; /* with lock: all threads wait on it */
	/* Written under lock; the watchdog reads them without it. */
	_Atomic uint64_t round;	       /* broadcasts so far */
	_Atomic uint64_t back;	       /* threads back since the last one */
	bool leave;		       /* lock */
	uint64_t stamp;		       /* lock: when the last broadcast began */
	struct bench_latency *latency; /* lock: of each return; or NULL */

	/* The last thread tells the main thread by these; nests inside lock. */
	struct impl_mutex report_lock;
	struct impl_cond all_back;
	bool all_are_back; /* report_lock */

	/* --other: posted to a thread, to make it take and drop lock */
	sem_t take, taken, drop;
};

/* Called with waiters->lock held. */
static void come_back(struct waiters *waiters)
{
	if (count_up(&waiters->back) != waiters->args->threads ||
	    waiters->leave)
		return;
	impl_mutex_lock(&waiters->report_lock);
	waiters->all_are_back = true;
	impl_cond_signal(&waiters->all_back);
	impl_mutex_unlock(&waiters->report_lock);
}

static void *waiter_main(void *arg)
{
	struct waiters *waiters = arg;
	uint64_t returns = 0;

	impl_mutex_lock(&waiters->lock);
	while (!waiters->leave) {
		come_back(waiters);
		impl_cond_wait(&waiters->go, &waiters->lock);
		if (++returns != get(&waiters->round))
			bench_wrong("round %" PRIu64 " of %" PRIu64
				    ": a wait returned for the %" PRIu64
				    ". time: a wakeup from nowhere",
				    get(&waiters->round), waiters->args->rounds,
				    returns);
		if (waiters->latency && !waiters->leave)
			bench_latency_add(waiters->latency,
					  bench_now_ns() - waiters->stamp);
	}
	come_back(waiters);
	impl_mutex_unlock(&waiters->lock);
	return NULL;
}

static void await_all_back(struct waiters *waiters)
{
	impl_mutex_lock(&waiters->report_lock);
	while (!waiters->all_are_back)
		impl_cond_wait(&waiters->all_back, &waiters->report_lock);
	waiters->all_are_back = false;
	impl_mutex_unlock(&waiters->report_lock);
}

static void *holder_main(void *arg)
{
	struct waiters *waiters = arg;
	bool leave;

	do {
		sem_wait(&waiters->take);
		impl_mutex_lock(&waiters->lock);
		sem_post(&waiters->taken);
		sem_wait(&waiters->drop);
		leave = waiters->leave;
		impl_mutex_unlock(&waiters->lock);
	} while (!leave);
	return NULL;
}

/*
 * Take the lock for a broadcast: the caller itself, or with --other the holder.
 */
static void take(struct waiters *waiters)
{
	if (!waiters->args->other) {
		impl_mutex_lock(&waiters->lock);
		return;
	}
	sem_post(&waiters->take);
	sem_wait(&waiters->taken);
}

static void drop(struct waiters *waiters)
{
	if (waiters->args->other)
		sem_post(&waiters->drop);
	else
		impl_mutex_unlock(&waiters->lock);
}

/*
 * The last thread reports with waiters->lock held, and gives the lock up by
 * waiting. So once the main thread has the lock, all threads wait, and none can
 * miss the broadcast.
 */
static void release(struct waiters *waiters, bool leave)
{
	bool keep = waiters->args->keep || waiters->args->other;

	take(waiters);
	set(&waiters->round, get(&waiters->round) + 1);
	set(&waiters->back, 0);
	waiters->leave = leave;
	if (waiters->latency)
		waiters->stamp = bench_now_ns();
	if (!keep)
		drop(waiters);
	impl_cond_broadcast(&waiters->go);
	if (keep)
		drop(waiters);
}

static void measure(struct bench_run *run, struct waiters *waiters)
{
	await_all_back(waiters);
	bench_begin(run);
	for (uint64_t i = 0; i < waiters->args->rounds; i++) {
		release(waiters, false);
		await_all_back(waiters);
	}
	bench_end(run);
	run->operations = waiters->args->threads * waiters->args->rounds;
	run->latency = waiters->latency;
}

static uint64_t progress(void *arg)
{
	struct waiters *waiters = arg;

	return get(&waiters->round) * waiters->args->threads +
	       get(&waiters->back);
}

static void explain(void *arg)
{
	struct waiters *waiters = arg;
	uint64_t round = get(&waiters->round);

	if (round > waiters->args->rounds)
		bench_error("at the end: %" PRIu64 " of %" PRIu64
			    " threads returned",
			    get(&waiters->back), waiters->args->threads);
	else
		bench_error("round %" PRIu64 " of %" PRIu64 ": %" PRIu64
			    " of %" PRIu64 " threads returned",
			    round, waiters->args->rounds, get(&waiters->back),
			    waiters->args->threads);
}

static enum bench_exit run(struct bench_run *run, const void *args)
{
	struct waiters waiters = { .args = args };
	struct bench_watch watch = { progress, explain, &waiters };
	struct bench_threads threads, holder;
	bool started;

	if (!bench_latency_new(&waiters.latency, waiters.args->latency))
		return BENCH_FAILED;
	if (!bench_watchdog_start(&watch, run->common->watchdog))
		return BENCH_FAILED;
	impl_mutex_init(&waiters.lock);
	impl_cond_init(&waiters.go);
	impl_mutex_init(&waiters.report_lock);
	impl_cond_init(&waiters.all_back);
	sem_init(&waiters.take, 0, 0);
	sem_init(&waiters.taken, 0, 0);
	sem_init(&waiters.drop, 0, 0);

	if (!bench_threads_start(&holder, waiters.args->other,
				 run->common->stack, holder_main, &waiters,
				 0)) {
		bench_threads_join(&holder);
		return BENCH_FAILED;
	}
	started = bench_threads_start(&threads, waiters.args->threads,
				      run->common->stack, waiter_main, &waiters,
				      0);
	if (started)
		measure(run, &waiters);
	release(&waiters, true);
	bench_threads_join(&threads);
	bench_threads_join(&holder);
	bench_watchdog_stop();

	impl_cond_destroy(&waiters.all_back);
	impl_mutex_destroy(&waiters.report_lock);
	impl_cond_destroy(&waiters.go);
	impl_mutex_destroy(&waiters.lock);
	return started ? BENCH_OK : BENCH_FAILED;
}

static void print(FILE *out, const struct bench_run *run, const void *args)
{
	const struct args *a = args;

	(void)run;
	fprintf(out, "%" PRIu64 " rounds of %" PRIu64 " threads%s", a->rounds,
		a->threads,
		a->other ? " (mutex kept by another thread)" :
		a->keep	 ? " (mutex kept)" :
			   "");
}

static const struct bench_option options[] = {
	BENCH_THREADS_OPTION(1, "threads that wait"),
	BENCH_ROUNDS_OPTION("broadcasts"),
	BENCH_KEEP_OPTION,
	BENCH_FLAG_OPTION('o', "other", other,
			  "another thread keeps it locked, and nobody else",
			  .key = "other"),
	BENCH_LATENCY_OPTION,
	{ 0 }
};

BENCH_SUITE(.name = "cond-perf",
	    .summary = "Broadcast to THREADS waiting threads, ROUNDS times.",
	    .operation = "waiter and round",
	    .switches_key = "switches_per_waiter_round");
