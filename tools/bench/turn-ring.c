// SPDX-License-Identifier: MIT
/*
 * turn-ring - threads that take turns, round and round, under one mutex.
 *
 * Each thread has a condition variable of its own and signals that of the next
 * thread. With -b all threads share one, and each broadcast wakes all of them
 * though only one may go on.
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
		.broadcast = a->broadcast,
	};

	if (!bench_latency_new(&ring.latency, a->latency))
		return BENCH_FAILED;
	return ring_run(run, &ring);
}

static void print(FILE *out, const struct bench_run *run, const void *args)
{
	const struct args *a = args;

	(void)run;
	fprintf(out, "%" PRIu64 " turns of %" PRIu64 " threads%s", a->turns,
		a->threads, a->broadcast ? " (by broadcast)" : "");
}

static const struct bench_option options[] = {
	BENCH_THREADS_OPTION(2, "threads in the ring"),
	BENCH_REQUIRED_OPTION('i', turns, 1, 1000000000, "TURNS",
			      "turns of each"),
	BENCH_FLAG_OPTION('b', "broadcast", broadcast,
			  "one condition variable for all, and broadcasts",
			  .key = "broadcast"),
	BENCH_LATENCY_OPTION,
	{ 0 }
};

BENCH_SUITE(.name = "turn-ring",
	    .summary = "Let THREADS threads take turns, TURNS each.",
	    .operation = "turn", .switches_key = "switches_per_turn");
