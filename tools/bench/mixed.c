// SPDX-License-Identifier: MIT
/*
 * mixed - a load whose character changes every few milliseconds.
 *
 * Three kinds of phases take turns: broadcasts after unlocking, to threads that
 * do nothing; broadcasts with the mutex held, to threads that work with the
 * mutex held for 10 us each; single signals with the mutex held. A phase lasts
 * equally long for every implementation. The result is the time of an
 * operation: the mean over the kinds, each with the same weight, so that no
 * kind drowns the others.
 */
#include "waiters.h"

#define SECTION_NS 10000

struct args {
	uint64_t threads, phase, cycles;
};

struct kind {
	const char *name;
	enum waiters_call call;
	uint64_t section;
	/* How long its phases took in all, and their operations. */
	uint64_t ns, operations;
};

static struct kind kinds[] = {
	{ .name = "free", .call = WAITERS_FREE },
	{ .name = "held", .call = WAITERS_HELD, .section = SECTION_NS },
	{ .name = "each", .call = WAITERS_EACH },
};
#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static double ns_of(const struct kind *kind)
{
	return (double)kind->ns / kind->operations;
}

static void play_phase(struct waiters *waiters, struct kind *kind, uint64_t ns)
{
	uint64_t start = bench_now_ns(), took;

	waiters->work = bench_work_rounds(kind->section);
	do {
		waiters_announce(waiters, kind->call);
		waiters_await_all(waiters);
		kind->operations += get(&waiters->threads);
		took = bench_now_ns() - start;
	} while (took < ns);
	kind->ns += took;
}

static void measure(struct bench_run *run, struct waiters *waiters,
		    const void *args)
{
	const struct args *a = args;

	bench_begin(run);
	for (uint64_t i = 0; i < a->cycles; i++)
		for (size_t k = 0; k < NR_KINDS; k++)
			play_phase(waiters, &kinds[k], a->phase * 1000000);
	bench_end(run);
	for (size_t k = 0; k < NR_KINDS; k++) {
		run->operations += kinds[k].operations;
		run->ns_per_operation += ns_of(&kinds[k]) / NR_KINDS;
	}
}

static enum bench_exit run(struct bench_run *run, const void *args)
{
	const struct args *a = args;
	struct waiters waiters = { .threads = a->threads };

	bench_work_rounds(SECTION_NS); /* measures work before threads run */
	return waiters_run(run, &waiters, measure, args);
}

static void print(FILE *out, const struct bench_run *run, const void *args)
{
	const struct args *a = args;

	fprintf(out,
		"%" PRIu64 " cycles of %zu phases, %" PRIu64
		" threads, %.0f ns each",
		a->cycles, NR_KINDS, a->threads, run->ns_per_operation);
}

static void json(struct bench_json *json, const struct bench_run *run,
		 const void *args)
{
	(void)run;
	(void)args;
	bench_json_begin(json, "kinds");
	for (size_t k = 0; k < NR_KINDS; k++) {
		bench_json_begin(json, kinds[k].name);
		bench_json_count(json, "operations", kinds[k].operations);
		bench_json_real(json, "ns_per_operation", ns_of(&kinds[k]));
		bench_json_end(json);
	}
	bench_json_end(json);
}

static const struct bench_option options[] = {
	BENCH_THREADS_OPTION(1, "threads that wait"),
	BENCH_COUNT_OPTION('p', "phase", phase, 1, 1000000, "MS",
			   "milliseconds of each phase", .required = true,
			   .key = "phase_ms"),
	BENCH_REQUIRED_OPTION('c', cycles, 1, 1000000, "CYCLES",
			      "times that all phases are played"),
	{ 0 }
};

BENCH_SUITE(.name = "mixed",
	    .summary =
		    "A load that changes its character every MS milliseconds.",
	    .operation = "waiter and round",
	    .switches_key = "switches_per_waiter_round", .json = json);
