// SPDX-License-Identifier: MIT
#include "bench.h"

#define PROBE_ROUNDS UINT64_C(20000)
#define PROBES	     50

/* A chain of multiplications: each needs the result of the one before. */
void bench_work(uint64_t rounds)
{
	uint64_t x = rounds;

	for (uint64_t i = 0; i < rounds; i++) {
		x = x * UINT64_C(6364136223846793005) + 1;
		__asm__ volatile("" : "+r"(x));
	}
}

/*
 * The time of the fastest of many probes, because an interrupt or another
 * program can only make a probe slower.
 */
static uint64_t ps_per_round(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < PROBES; i++) {
		uint64_t start = bench_now_ns(), took;

		bench_work(PROBE_ROUNDS);
		took = bench_now_ns() - start;
		if (took && took < least)
			least = took;
	}
	return least * 1000 / PROBE_ROUNDS ?: 1;
}

static uint64_t cost_ps;

void bench_work_set_cost(uint64_t ps)
{
	cost_ps = ps;
}

uint64_t bench_work_cost(void)
{
	return cost_ps;
}

uint64_t bench_work_rounds(uint64_t ns)
{
	if (!ns)
		return 0;
	if (!cost_ps)
		cost_ps = ps_per_round();
	return (ns * 1000 + cost_ps / 2) / cost_ps;
}
