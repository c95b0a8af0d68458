// SPDX-License-Identifier: MIT
/*
 * broadcast - one broadcast a round, and work for each thread that it wakes.
 *
 * Ordinary programs use a condition variable like this: a thread looks at its
 * predicate, works with the mutex held, and unlocks the mutex (waiters.h).
 */
#include <stdlib.h>

#include "waiters.h"

struct args {
	uint64_t threads, rounds, section;
	bool keep, latency;
};

static void measure(struct bench_run *run, struct waiters *waiters,
		    const void *args)
{
	const struct args *a = args;

	bench_begin(run);
	for (uint64_t i = 0; i < a->rounds; i++) {
		waiters_announce(waiters,
				 a->keep ? WAITERS_HELD : WAITERS_FREE);
		waiters_await_all(waiters);
	}
	bench_end(run);
	run->operations = a->threads * a->rounds;
}

static enum bench_exit run(struct bench_run *run, const void *args)
{
	const struct args *a = args;
	struct waiters waiters = {
		.threads = a->threads,
		.work = bench_work_rounds(a->section),
	};

	if (!bench_latency_new(&waiters.latency, a->latency))
		return BENCH_FAILED;
	run->latency = waiters.latency;
	return waiters_run(run, &waiters, measure, args);
}

static void print(FILE *out, const struct bench_run *run, const void *args)
{
	const struct args *a = args;

	(void)run;
	fprintf(out,
		"%" PRIu64 " rounds of %" PRIu64 " threads, %" PRIu64
		" ns of work%s",
		a->rounds, a->threads, a->section,
		a->keep ? " (mutex kept)" : "");
}

static const struct bench_option options[] = {
	BENCH_THREADS_OPTION(1, "threads that wait"),
	BENCH_ROUNDS_OPTION("broadcasts"),
	BENCH_COUNT_OPTION('c', "section", section, 0, 1000000000, "NS",
			   "work of each with the mutex held, in ns (default 0)",
			   .key = "section_ns"),
	BENCH_KEEP_OPTION,
	BENCH_LATENCY_OPTION,
	{ 0 }
};

static void json(struct bench_json *json, const struct bench_run *run,
		 const void *args)
{
	(void)run;
	(void)args;
	bench_json_count(json, "work_ps", bench_work_cost());
}

BENCH_SUITE(.name = "broadcast",
	    .summary =
		    "Broadcast to THREADS threads that work with the mutex held.",
	    .operation = "waiter and round",
	    .switches_key = "switches_per_waiter_round", .json = json);
