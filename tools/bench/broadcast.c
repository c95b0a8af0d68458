// SPDX-License-Identifier: MIT
/*
 * broadcast - one broadcast a round, and work to do for each that it wakes.
 *
 * How ordinary programs use a condition variable: a thread looks at its
 * predicate, works with the mutex held, and lets go of it (herd.h).
 */
#include <stdlib.h>

#include "herd.h"

struct args {
	uint64_t threads, rounds, section;
	bool keep, latency;
};

static void measure(struct bench_run *run, struct herd *herd, const void *args)
{
	const struct args *a = args;

	bench_begin(run);
	for (uint64_t i = 0; i < a->rounds; i++) {
		herd_announce(herd, a->keep ? HERD_HELD : HERD_FREE);
		herd_await_all(herd);
	}
	bench_end(run);
	run->operations = a->threads * a->rounds;
}

static enum bench_exit run(struct bench_run *run, const void *args)
{
	const struct args *a = args;
	struct herd herd = {
		.threads = a->threads,
		.work = bench_work_rounds(a->section),
	};

	if (a->latency) {
		herd.latency = bench_alloc(1, sizeof(*herd.latency));
		if (!herd.latency)
			return BENCH_FAILED;
	}
	run->latency = herd.latency;
	return herd_run(run, &herd, measure, args);
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

static void json(struct bench_json *json, const struct bench_run *run,
		 const void *args)
{
	const struct args *a = args;

	(void)run;
	bench_json_count(json, "threads", a->threads);
	bench_json_count(json, "rounds", a->rounds);
	bench_json_count(json, "section_ns", a->section);
	bench_json_bool(json, "keep", a->keep);
}

static const struct bench_option options[] = {
	{ .letter = 'n',
	  .name = "threads",
	  .kind = BENCH_COUNT,
	  .required = true,
	  .offset = offsetof(struct args, threads),
	  .min = 1,
	  .max = 1000000,
	  .metavar = "THREADS",
	  .help = "threads that wait" },
	{ .letter = 'r',
	  .name = "rounds",
	  .kind = BENCH_COUNT,
	  .required = true,
	  .offset = offsetof(struct args, rounds),
	  .min = 1,
	  .max = 1000000000,
	  .metavar = "ROUNDS",
	  .help = "broadcasts" },
	{ .letter = 'c',
	  .name = "section",
	  .kind = BENCH_COUNT,
	  .offset = offsetof(struct args, section),
	  .min = 0,
	  .max = 1000000000,
	  .metavar = "NS",
	  .help = "work of each with the mutex held, in ns (default 0)" },
	{ .letter = 'k',
	  .name = "keep",
	  .kind = BENCH_FLAG,
	  .offset = offsetof(struct args, keep),
	  .help = "keep the mutex locked during the broadcast" },
	BENCH_LATENCY_OPTION(struct args, latency),
	{ 0 }
};

static const struct bench_suite suite = {
	.name = "broadcast",
	.summary =
		"Broadcast to THREADS threads that work with the mutex held.",
	.operation = "waiter and round",
	.switches_key = "switches_per_waiter_round",
	.impl = &impl,
	.options = options,
	.args_size = sizeof(struct args),
	.run = run,
	.print = print,
	.json = json,
};

BENCH_SUITE(suite);
