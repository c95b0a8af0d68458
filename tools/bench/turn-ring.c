// SPDX-License-Identifier: MIT
/*
 * turn-ring - threads that take turns, round and round, under one mutex.
 *
 * Each has a condition variable of its own and signals that of the next; with
 * -b all share one, and a broadcast wakes the many of whom one may go on.
 */
#include "ring.h"

struct args {
	uint64_t threads, turns;
	bool broadcast, latency;
};

static enum bench_exit run(struct bench_run *run, const void *args)
{
	const struct args *a = args;
	struct ring ring = {
		.threads = a->threads,
		.turns = a->turns,
		.herd = a->broadcast,
	};

	if (a->latency) {
		ring.latency = bench_alloc(1, sizeof(*ring.latency));
		if (!ring.latency)
			return BENCH_FAILED;
	}
	return ring_run(run, &ring);
}

static void print(FILE *out, const struct bench_run *run, const void *args)
{
	const struct args *a = args;

	(void)run;
	fprintf(out, "%" PRIu64 " turns of %" PRIu64 " threads%s", a->turns,
		a->threads, a->broadcast ? " (by broadcast)" : "");
}

static void json(struct bench_json *json, const struct bench_run *run,
		 const void *args)
{
	const struct args *a = args;

	(void)run;
	bench_json_count(json, "threads", a->threads);
	bench_json_count(json, "turns", a->turns);
	bench_json_bool(json, "broadcast", a->broadcast);
}

static const struct bench_option options[] = {
	{ .letter = 'n',
	  .name = "threads",
	  .kind = BENCH_COUNT,
	  .required = true,
	  .offset = offsetof(struct args, threads),
	  .min = 2,
	  .max = 1000000,
	  .metavar = "THREADS",
	  .help = "threads in the ring" },
	{ .letter = 'i',
	  .name = "turns",
	  .kind = BENCH_COUNT,
	  .required = true,
	  .offset = offsetof(struct args, turns),
	  .min = 1,
	  .max = 1000000000,
	  .metavar = "TURNS",
	  .help = "turns of each" },
	{ .letter = 'b',
	  .name = "broadcast",
	  .kind = BENCH_FLAG,
	  .offset = offsetof(struct args, broadcast),
	  .help = "one condition variable for all, and broadcasts" },
	BENCH_LATENCY_OPTION(struct args, latency),
	{ 0 }
};

static const struct bench_suite suite = {
	.name = "turn-ring",
	.summary = "Let THREADS threads take turns, TURNS each.",
	.operation = "turn",
	.switches_key = "switches_per_turn",
	.impl = &impl,
	.options = options,
	.args_size = sizeof(struct args),
	.run = run,
	.print = print,
	.json = json,
};

BENCH_SUITE(suite);
