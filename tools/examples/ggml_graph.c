// SPDX-License-Identifier: MIT
/*
 * ggml_barrier.h as ggml uses it: threads compute graphs, node by node, and
 * each graph has a team of its own size.
 *
 *	cc ggml_graph.c -ldrover -pthread
 */
#include <pthread.h>
#include <stdio.h>

#include "ggml_barrier.h"

#define MAX_THREADS 4
#define NR_NODES    200
#define NR_ROWS	    60

static struct ggml_drover_barrier barrier;
static int n_threads; /* of the present graph */
static unsigned int values[2][NR_ROWS];

static void compute_graph(int ith)
{
	for (int node = 0; node < NR_NODES; node++) {
		const unsigned int *from = values[node % 2];
		unsigned int *to = values[(node + 1) % 2];

		for (int row = ith; row < NR_ROWS; row += n_threads)
			to[row] = from[NR_ROWS - 1 - row] * 3 + row;
		ggml_drover_barrier_wait(&barrier);
	}
}

static void *secondary_thread(void *ith)
{
	compute_graph((int)(long)ith);
	return NULL;
}

/* One graph, as ggml_graph_compute() does it. */
static unsigned int graph_compute(int team)
{
	pthread_t threads[MAX_THREADS];
	unsigned int sum = 0;

	for (int i = 0; i < NR_ROWS; i++)
		values[0][i] = i;
	n_threads = team;
	ggml_drover_barrier_team(&barrier, team);
	for (long ith = 1; ith < team; ith++)
		if (pthread_create(&threads[ith], NULL, secondary_thread,
				   (void *)ith))
			abort();
	compute_graph(0);
	for (int ith = 1; ith < team; ith++)
		pthread_join(threads[ith], NULL);
	for (int i = 0; i < NR_ROWS; i++)
		sum += values[NR_NODES % 2][i];
	return sum;
}

int main(void)
{
	unsigned int alone, wrong = 0;

	ggml_drover_barrier_init(&barrier, 1);
	alone = graph_compute(1);
	for (int team = 2; team <= MAX_THREADS; team++)
		for (int i = 0; i < 5; i++)
			wrong += graph_compute(team) != alone;
	ggml_drover_barrier_free(&barrier);
	printf("teams of 1 to %d threads: %u results differ\n", MAX_THREADS,
	       wrong);
	return wrong != 0;
}
