// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "bench.h"

#define SUB (1u << BENCH_LATENCY_SHIFT)

/* Each value below SUB has a bucket; from SUB on an octave has SUB buckets. */
static unsigned int bucket_of(uint64_t ns)
{
	unsigned int octave;

	if (ns < SUB)
		return ns;
	octave = 63 - __builtin_clzll(ns) - BENCH_LATENCY_SHIFT;
	return (octave << BENCH_LATENCY_SHIFT) + (ns >> octave);
}

/* The greatest value that belongs to @bucket. */
static uint64_t top_of(unsigned int bucket)
{
	unsigned int octave;

	if (bucket < 2 * SUB)
		return bucket;
	octave = (bucket >> BENCH_LATENCY_SHIFT) - 1;
	return ((bucket - (octave << BENCH_LATENCY_SHIFT) + UINT64_C(1))
		<< octave) -
	       1;
}

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

void bench_sort(uint64_t *values, size_t nr)
{
	qsort(values, nr, sizeof(*values), compare);
}

bool bench_latency_new(struct bench_latency **latency, bool wanted)
{
	*latency = wanted ? bench_alloc(1, sizeof(**latency)) : NULL;
	return *latency || !wanted;
}

void bench_latency_add(struct bench_latency *latency, uint64_t ns)
{
	latency->nr++;
	latency->total += ns;
	if (ns > latency->max)
		latency->max = ns;
	latency->buckets[bucket_of(ns)]++;
}

void bench_latency_merge(struct bench_latency *to,
			 const struct bench_latency *from)
{
	to->nr += from->nr;
	to->total += from->total;
	if (from->max > to->max)
		to->max = from->max;
	for (unsigned int i = 0; i < BENCH_LATENCY_BUCKETS; i++)
		to->buckets[i] += from->buckets[i];
}

uint64_t bench_latency_quantile(const struct bench_latency *latency,
				double share)
{
	uint64_t below = 0;

	for (unsigned int i = 0; i < BENCH_LATENCY_BUCKETS; i++) {
		below += latency->buckets[i];
		if (below && below >= share * latency->nr)
			return top_of(i) < latency->max ? top_of(i) :
							  latency->max;
	}
	return 0;
}

void bench_latency_json(struct bench_json *json,
			const struct bench_latency *latency)
{
	uint64_t pairs[BENCH_LATENCY_BUCKETS][2];
	size_t nr = 0;

	for (unsigned int i = 0; i < BENCH_LATENCY_BUCKETS; i++) {
		if (!latency->buckets[i])
			continue;
		pairs[nr][0] = top_of(i);
		pairs[nr++][1] = latency->buckets[i];
	}
	bench_json_begin(json, "latency_ns");
	bench_json_count(json, "nr", latency->nr);
	bench_json_real(json, "mean",
			latency->nr ? (double)latency->total / latency->nr : 0);
	bench_json_count(json, "p50", bench_latency_quantile(latency, 0.5));
	bench_json_count(json, "p90", bench_latency_quantile(latency, 0.9));
	bench_json_count(json, "p99", bench_latency_quantile(latency, 0.99));
	bench_json_count(json, "p999", bench_latency_quantile(latency, 0.999));
	bench_json_count(json, "max", latency->max);
	bench_json_pairs(json, "buckets", pairs, nr);
	bench_json_end(json);
}
