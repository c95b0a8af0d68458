// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory or a thread is refused, once in each place where the library asks for
 * it. The call returns an error and has changed nothing, accepted operations
 * are carried out, no call hangs, and neither stream nor thread is left behind.
 */
#define REFUSES
#define FAULTS 100 /* more than there are places */
#include "../pool/tasks.h"
#include "blocks.h"

#define NR_RANGES 10

static int nr_added, nr_wrong;

/* Did a call go well? It may lack memory or a thread. */
static bool went(int err)
{
	nr_wrong += err && err != ENOMEM && err != EAGAIN;
	return !err;
}

static int add_one(const void *args)
{
	(**(unsigned char *const *)args)++;
	return 0;
}

/* A kernel with more accesses than an operation has room for. */
static bool add(drover_stream_t *s, unsigned char *to)
{
	const drover_kernel_t kernel = { .run = add_one };
	drover_access_t accesses[NR_RANGES];

	for (int i = 0; i < NR_RANGES; i++)
		accesses[i] = (drover_access_t){ to, 1, DROVER_WRITE };
	return went(drover_stream_run(s, &kernel, &to, sizeof(to), accesses,
				      NR_RANGES, NULL));
}

/* Operations are captured. Those that the capture accepted are replayed. */
static void graph(drover_stream_t *s, unsigned char *memory)
{
	unsigned char zero[2] = { 0 };
	drover_graph_t *graph;
	int nr;

	if (!went(drover_stream_capture(s)))
		return;
	went(drover_stream_copy_staged(s, memory + 1, zero, 1, NULL));
	nr = add(s, memory) + add(s, memory);
	if (!went(drover_stream_capture_end(s, &graph)))
		return;
	if (went(drover_graph_replay(s, graph, NULL)))
		nr_added += nr;
	drover_graph_destroy(graph);
}

/* One life of a stream: was all as it should be? */
static bool life(void)
{
	unsigned char zero[2] = { 0 }, *memory;
	drover_stream_t s;
	void *place;

	nr_wrong = 0;
	if (!went(drover_stream_create(&s, NULL)))
		return !nr_wrong;
	if (went(drover_stream_alloc(&s, 2, &place))) {
		memory = place;
		MUST(drover_stream_copy_staged(&s, memory, zero, 2, NULL));
		nr_added = add(&s, memory);
		graph(&s, memory);
		MUST(drover_stream_drain(&s));
		nr_wrong += *memory != nr_added;
		MUST(drover_stream_free(&s, memory));
	}
	MUST(drover_stream_destroy(&s));
	return !nr_wrong;
}

int main(void)
{
	tap_plan(2);
	with_each_fault(life);
	return tap_exit();
}
