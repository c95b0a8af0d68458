// SPDX-License-Identifier: MIT
/*
 * cond-perf - all threads wait on one condition variable and are released by
 * one broadcast a round.
 *
 * A round lasts from the broadcast until every thread is back in its wait.
 * What is counted are returns from the wait and nothing else: no thread looks
 * at a predicate and goes back to sleep. So a wakeup that is lost leaves the
 * round incomplete (the watchdog tells), and one that comes from nowhere
 * makes a thread's count of returns differ from the number of broadcasts.
 */
#include <inttypes.h>

#include "bench.h"
#include "impl.h"
#include "peek.h"

struct args {
	uint64_t threads, rounds;
	bool keep, latency;
};

struct herd {
	const struct args *args;

	struct impl_mutex lock;
	struct impl_cond go; /* with lock: what all threads wait on */
	/* Written under lock; the watchdog reads them without. */
	_Atomic uint64_t round;	       /* broadcasts so far */
	_Atomic uint64_t back;	       /* threads in the wait since the last */
	bool leave;		       /* lock */
	uint64_t stamp;		       /* lock: when the last broadcast began */
	struct bench_latency *latency; /* lock: of each return; or NULL */

	/* How the last thread tells the main thread; nests inside lock. */
	struct impl_mutex report_lock;
	struct impl_cond all_back;
	bool all_are_back; /* report_lock */
};

/* Called with herd->lock held. */
static void come_back(struct herd *herd)
{
	if (count_up(&herd->back) != herd->args->threads || herd->leave)
		return;
	impl_mutex_lock(&herd->report_lock);
	herd->all_are_back = true;
	impl_cond_signal(&herd->all_back);
	impl_mutex_unlock(&herd->report_lock);
}

static void *waiter_main(void *arg)
{
	struct herd *herd = arg;
	uint64_t returns = 0;

	impl_mutex_lock(&herd->lock);
	while (!herd->leave) {
		come_back(herd);
		impl_cond_wait(&herd->go, &herd->lock);
		if (++returns != get(&herd->round))
			bench_wrong("round %" PRIu64 " of %" PRIu64
				    ": a wait returned for the %" PRIu64
				    ". time: a wakeup from nowhere",
				    get(&herd->round), herd->args->rounds,
				    returns);
		if (herd->latency && !herd->leave)
			bench_latency_add(herd->latency,
					  bench_now_ns() - herd->stamp);
	}
	come_back(herd);
	impl_mutex_unlock(&herd->lock);
	return NULL;
}

static void await_all_back(struct herd *herd)
{
	impl_mutex_lock(&herd->report_lock);
	while (!herd->all_are_back)
		impl_cond_wait(&herd->all_back, &herd->report_lock);
	herd->all_are_back = false;
	impl_mutex_unlock(&herd->report_lock);
}

/*
 * The last thread reports with herd->lock held and gives it up by waiting:
 * once the main thread has it, nobody can miss the broadcast.
 */
static void release(struct herd *herd, bool leave)
{
	bool keep = herd->args->keep;

	impl_mutex_lock(&herd->lock);
	set(&herd->round, get(&herd->round) + 1);
	set(&herd->back, 0);
	herd->leave = leave;
	if (herd->latency)
		herd->stamp = bench_now_ns();
	if (!keep)
		impl_mutex_unlock(&herd->lock);
	impl_cond_broadcast(&herd->go);
	if (keep)
		impl_mutex_unlock(&herd->lock);
}

static void measure(struct bench_run *run, struct herd *herd)
{
	await_all_back(herd);
	bench_begin(run);
	for (uint64_t i = 0; i < herd->args->rounds; i++) {
		release(herd, false);
		await_all_back(herd);
	}
	bench_end(run);
	run->operations = herd->args->threads * herd->args->rounds;
	run->latency = herd->latency;
}

static uint64_t progress(void *arg)
{
	struct herd *herd = arg;

	return get(&herd->round) * herd->args->threads + get(&herd->back);
}

static void explain(void *arg)
{
	struct herd *herd = arg;
	uint64_t round = get(&herd->round);

	if (round > herd->args->rounds)
		bench_error("at the end: %" PRIu64 " of %" PRIu64
			    " threads returned",
			    get(&herd->back), herd->args->threads);
	else
		bench_error("round %" PRIu64 " of %" PRIu64 ": %" PRIu64
			    " of %" PRIu64 " threads returned",
			    round, herd->args->rounds, get(&herd->back),
			    herd->args->threads);
}

static enum bench_exit run(struct bench_run *run, const void *args)
{
	struct herd herd = { .args = args };
	struct bench_watch watch = { progress, explain, &herd };
	struct bench_threads threads;
	bool started;

	if (!bench_latency_new(&herd.latency, herd.args->latency))
		return BENCH_FAILED;
	if (!bench_watchdog_start(&watch, run->common->watchdog))
		return BENCH_FAILED;
	impl_mutex_init(&herd.lock);
	impl_cond_init(&herd.go);
	impl_mutex_init(&herd.report_lock);
	impl_cond_init(&herd.all_back);

	started = bench_threads_start(&threads, herd.args->threads,
				      run->common->stack, waiter_main, &herd,
				      0);
	if (started)
		measure(run, &herd);
	release(&herd, true);
	bench_threads_join(&threads);
	bench_watchdog_stop();

	impl_cond_destroy(&herd.all_back);
	impl_mutex_destroy(&herd.report_lock);
	impl_cond_destroy(&herd.go);
	impl_mutex_destroy(&herd.lock);
	return started ? BENCH_OK : BENCH_FAILED;
}

static void print(FILE *out, const struct bench_run *run, const void *args)
{
	const struct args *a = args;

	(void)run;
	fprintf(out, "%" PRIu64 " rounds of %" PRIu64 " threads%s", a->rounds,
		a->threads, a->keep ? " (mutex kept)" : "");
}

static const struct bench_option options[] = {
	BENCH_THREADS_OPTION(1, "threads that wait"),
	BENCH_ROUNDS_OPTION("broadcasts"),
	BENCH_KEEP_OPTION,
	BENCH_LATENCY_OPTION,
	{ 0 }
};

static const struct bench_suite suite = {
	.name = "cond-perf",
	.summary = "Broadcast to THREADS waiting threads, ROUNDS times.",
	.operation = "waiter and round",
	.switches_key = "switches_per_waiter_round",
	.impl = &impl,
	.options = options,
	.args_size = sizeof(struct args),
	.run = run,
	.print = print,
};

BENCH_SUITE(suite);
