// SPDX-License-Identifier: MIT
/*
 * pool-perf - requests, back to back or one every so many microseconds. A
 * request is a sequence of short parallel loops, as in an inference engine, or
 * a tree of tasks that fork and join.
 *
 * The program prints how long requests took. After the last request there is
 * nothing to do, and the program prints the CPU time that the pool still uses.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "pool_impl.h"

#define NS_PER_MS UINT64_C(1000000)

/* Workers may linger for SETTLE_NS. Then CPU time is measured for IDLE_NS. */
#define SETTLE_NS (1 * NS_PER_MS)
#define IDLE_NS	  (50 * NS_PER_MS)

struct args {
	uint64_t threads, requests, period_us, loops, parts, part_ns, forks;
};

static struct {
	uint64_t rounds; /* of bench_work(), for each part */
	_Atomic uint64_t nr_parts;
	uint64_t *latencies; /* ns, in the order of the requests, then sorted */
	uint64_t first, total;
	double idle_cpu;
	long peak_kb;
} load;

static void run_part(size_t nr, void *arg)
{
	(void)nr;
	(void)arg;
	bench_work(load.rounds);
	atomic_fetch_add_explicit(&load.nr_parts, 1, memory_order_relaxed);
}

static uint64_t request(const struct args *args)
{
	uint64_t begin = bench_now_ns();

	if (args->forks)
		impl_pool_fork(args->forks, run_part, NULL);
	for (uint64_t i = 0; !args->forks && i < args->loops; i++)
		impl_pool_for(args->parts, run_part, NULL);
	return bench_now_ns() - begin;
}

static void sleep_until(uint64_t ns)
{
	struct timespec ts = { .tv_sec = ns / 1000000000,
			       .tv_nsec = ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) ==
	       EINTR)
		;
}

static void measure(struct bench_run *run, const struct args *args)
{
	uint64_t begin;

	bench_begin(run);
	begin = bench_now_ns();
	for (uint64_t i = 0; i < args->requests; i++) {
		if (args->period_us)
			sleep_until(begin + i * args->period_us * 1000);
		load.latencies[i] = request(args);
		load.total += load.latencies[i];
	}
	bench_end(run);
	run->operations = args->requests;
}

/* CPU time of all threads except this one, which measures. */
static int64_t cpu_of_others(void)
{
	struct timespec all, mine;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mine);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &all);
	return (all.tv_sec - mine.tv_sec) * INT64_C(1000000000) + all.tv_nsec -
	       mine.tv_nsec;
}

/* The share of one CPU that the pool uses when requests have ended. */
static double idle_cpu(void)
{
	uint64_t begin;
	int64_t before;

	sleep_until(bench_now_ns() + SETTLE_NS);
	begin = bench_now_ns();
	before = cpu_of_others();
	sleep_until(begin + IDLE_NS);
	return (double)(cpu_of_others() - before) / (bench_now_ns() - begin);
}

static uint64_t progress(void *arg)
{
	(void)arg;
	return atomic_load_explicit(&load.nr_parts, memory_order_relaxed);
}

static void explain(void *arg)
{
	bench_error("after %" PRIu64 " parts", progress(arg));
}

static void check(const struct args *args)
{
	uint64_t wanted = args->requests * (args->forks ?
						    UINT64_C(1) << args->forks :
						    args->loops * args->parts);

	if (progress(NULL) != wanted)
		bench_wrong("%" PRIu64 " parts were to run, and %" PRIu64
			    " did",
			    wanted, progress(NULL));
}

static enum bench_exit run(struct bench_run *run, const void *of)
{
	const struct args *args = of;
	struct bench_watch watch = { progress, explain, NULL };
	struct rusage usage;

	load.latencies = bench_alloc(args->requests, sizeof(uint64_t));
	if (!load.latencies ||
	    !bench_watchdog_start(&watch, run->common->watchdog))
		return BENCH_FAILED;
	load.rounds = args->part_ns ? bench_work_rounds(args->part_ns) : 0;
	impl_pool_start(args->threads);
	measure(run, args);
	load.idle_cpu = idle_cpu();
	impl_pool_end();
	bench_watchdog_stop();
	check(args);
	getrusage(RUSAGE_SELF, &usage);
	load.peak_kb = usage.ru_maxrss;
	load.first = load.latencies[0];
	bench_sort(load.latencies, args->requests);
	return BENCH_OK;
}

/* ---- what is printed ---- */

static double us(uint64_t ns)
{
	return ns * 1e-3;
}

/* The latency, in us, that @percent of all requests do not exceed. */
static double percentile(const struct args *args, double percent)
{
	return us(
		load.latencies[(size_t)(percent / 100 * (args->requests - 1))]);
}

static double wall(const struct bench_run *run)
{
	return run->end.wall - run->begin.wall;
}

static double cpu(const struct bench_run *run)
{
	return run->end.cpu - run->begin.cpu;
}

static void print(FILE *out, const struct bench_run *run, const void *of)
{
	const struct args *args = of;

	fprintf(out,
		"first: %.1f us\ntotal: %.6f s\naverage: %.1f us\n"
		"requests per second: %.1f\n"
		"average CPU: %.1f %%, %.1f us per request\n"
		"CPU when idle: %.1f %%\npeak memory: %ld kB\n"
		"min: %.1f us\nmax: %.1f us\nP50: %.1f us\nP90: %.1f us\n"
		"P95: %.1f us\nP99: %.1f us\n",
		us(load.first), load.total * 1e-9,
		us(load.total) / args->requests, args->requests / wall(run),
		cpu(run) / wall(run) * 100, cpu(run) * 1e6 / args->requests,
		load.idle_cpu * 100, load.peak_kb, percentile(args, 0),
		percentile(args, 100), percentile(args, 50),
		percentile(args, 90), percentile(args, 95),
		percentile(args, 99));
	fprintf(out, "%" PRIu64 " requests", args->requests);
}

static void json(struct bench_json *json, const struct bench_run *run,
		 const void *of)
{
	const struct args *args = of;

	bench_json_real(json, "first_us", us(load.first));
	bench_json_count(json, "work_ps", bench_work_cost());
	bench_json_real(json, "total_us", us(load.total));
	bench_json_real(json, "average_us", us(load.total) / args->requests);
	bench_json_real(json, "requests_per_second",
			args->requests / wall(run));
	bench_json_real(json, "cpu", cpu(run) / wall(run));
	bench_json_real(json, "cpu_us_per_request",
			cpu(run) * 1e6 / args->requests);
	bench_json_real(json, "idle_cpu", load.idle_cpu);
	bench_json_count(json, "peak_kb", load.peak_kb);
	bench_json_real(json, "min_us", percentile(args, 0));
	bench_json_real(json, "max_us", percentile(args, 100));
	bench_json_real(json, "p50_us", percentile(args, 50));
	bench_json_real(json, "p90_us", percentile(args, 90));
	bench_json_real(json, "p95_us", percentile(args, 95));
	bench_json_real(json, "p99_us", percentile(args, 99));
}

static const struct bench_option options[] = {
	BENCH_COUNT_OPTION('n', "threads", threads, 1, 4096, "THREADS",
			   "threads, the one that asks included",
			   .required = true, .operand = true, .key = "threads"),
	BENCH_COUNT_OPTION('r', "requests", requests, 1, 100000000, "REQUESTS",
			   "how many requests", .required = true,
			   .operand = true),
	BENCH_COUNT_OPTION('p', "period", period_us, 0, 1000000000,
			   "MICROSECONDS",
			   "one request each (default 0: back to back)",
			   .key = "period_us"),
	BENCH_PRESET_OPTION('l', "loops", loops, 1, 1000000, "LOOPS", 20,
			    "parallel loops of a request, one after the other",
			    .key = "loops"),
	BENCH_PRESET_OPTION('k', "parts", parts, 1, 1000000, "PARTS", 8,
			    "parts of a loop", .key = "parts"),
	BENCH_COUNT_OPTION(
		'f', "fork", forks, 1, 20, "DEPTH",
		"instead of loops: tasks that make two tasks each, so deep",
		.preset = 0, .key = "forks"),
	BENCH_PRESET_OPTION('w', "work", part_ns, 0, 1000000000, "NANOSECONDS",
			    5000, "what a part takes", .key = "part_ns"),
	{ 0 }
};

BENCH_SUITE(.name = "pool-perf",
	    .summary =
		    "Serve REQUESTS requests of short parallel loops by THREADS threads.",
	    .operation = "request", .switches_key = "switches_per_request",
	    .json = json);
