// SPDX-License-Identifier: MIT
#include <sys/resource.h>
#include <time.h>

#include "bench.h"

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

uint64_t bench_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

static double seconds_of(struct timeval tv)
{
	return tv.tv_sec + tv.tv_usec * 1e-6;
}

struct bench_sample bench_sample_now(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (struct bench_sample){
		.cpu = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
		.voluntary = usage.ru_nvcsw,
		.involuntary = usage.ru_nivcsw,
		.wall = now(),
	};
}

void bench_begin(struct bench_run *run)
{
	bench_perf_begin();
	run->begin = bench_sample_now();
	run->begin.wall = now();
}

void bench_end(struct bench_run *run)
{
	double wall = now();

	run->end = bench_sample_now();
	run->end.wall = wall;
	bench_perf_end();
}
