// SPDX-License-Identifier: MIT
/*
 * ggml_barrier.h as ggml uses it: threads compute graphs, node by node, and
 * each graph has a team of its own size.
 *
 *	cc ggml_graph.c -ldrover -pthread
 *
 * With a number of threads and a number of milliseconds, it prints how long a
 * node takes. ggml_table compares that with the other barriers of ggml:
 * OpenMP's (-fopenmp), and one that spins without end (-DSPIN).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "ggml_barrier.h"

#define MAX_THREADS 4
#define NR_NODES    200
#define NR_ROWS	    60
#define NR_GRAPHS   100

static int n_threads; /* in the team of the present graph */
static unsigned int values[2][NR_ROWS];
static double end; /* no graph begins after this time, except the first */
static int nr_graphs;
static int more; /* written before a graph's last barrier, read after it */

#if !defined(_OPENMP) && !defined(SPIN)
static struct ggml_drover_barrier barrier;
#endif

static void meet(void)
{
#if defined(_OPENMP)
#pragma omp barrier
#elif defined(SPIN)
	static _Alignas(64) atomic_int nr_here;
	static _Alignas(64) atomic_int nr_passed;
	int passed = atomic_load_explicit(&nr_passed, memory_order_relaxed);

	if (atomic_fetch_add(&nr_here, 1) == n_threads - 1) {
		atomic_store_explicit(&nr_here, 0, memory_order_relaxed);
		atomic_fetch_add(&nr_passed, 1);
		return;
	}
	while (atomic_load(&nr_passed) == passed) {
#ifdef __x86_64__
		__builtin_ia32_pause();
#endif
	}
#else
	if (n_threads > 1)
		ggml_drover_barrier_wait(&barrier);
#endif
}

/* Return: the time in nanoseconds. */
static double now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static void compute_graph(int ith)
{
	for (int node = 0; node < NR_NODES; node++) {
		const unsigned int *from = values[node % 2];
		unsigned int *to = values[(node + 1) % 2];

		for (int row = ith; row < NR_ROWS; row += n_threads)
			to[row] = from[NR_ROWS - 1 - row] * 3 + row;
		if (ith == 0 && node == NR_NODES - 1) {
			nr_graphs++;
			more = now(CLOCK_MONOTONIC) < end;
		}
		meet();
	}
}

/* ggml's threads stay from one graph to the next, too. */
static void compute_graphs(int ith)
{
	do
		compute_graph(ith);
	while (more);
}

#if defined(_OPENMP)

static void start_threads(int nr)
{
	(void)nr;
}

static void compute_together(int team)
{
	atomic_int nr = 0;

#pragma omp parallel num_threads(team)
	compute_graphs(nr++);
}

static void end_threads(void)
{
}

#elif defined(SPIN)

static void start_threads(int nr)
{
	(void)nr;
}

static void *secondary_thread(void *ith)
{
	compute_graphs((int)(long)ith);
	return NULL;
}

static void compute_together(int team)
{
	pthread_t threads[NR_ROWS];

	for (long ith = 1; ith < team; ith++)
		if (pthread_create(&threads[ith], NULL, secondary_thread,
				   (void *)ith))
			abort();
	compute_graphs(0);
	for (int ith = 1; ith < team; ith++)
		pthread_join(threads[ith], NULL);
}

static void end_threads(void)
{
}

#else

static pthread_t threads[NR_ROWS];
static int nr_threads;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static atomic_int n_graph; /* a graph's number, and its number of threads */
static atomic_bool stop;

#define THREADS_OF(graph) ((graph) % 1024)

/* ggml_graph_compute_check_for_work(): wait for a graph, or for the end. */
static int check_for_work(int last_graph, bool parked)
{
	if (!parked) {
		ggml_drover_await_graph(&barrier);
		return n_graph;
	}
	pthread_mutex_lock(&mutex);
	while (!stop && n_graph == last_graph)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
	return n_graph;
}

static void *secondary_thread(void *arg)
{
	int ith = (int)(long)arg, graph = 0;
	bool parked = false;

	for (;;) {
		graph = check_for_work(graph, parked);
		if (stop)
			return NULL;
		parked = ith >= THREADS_OF(graph);
		if (!parked)
			compute_graphs(ith);
	}
}

static void start_threads(int nr)
{
	nr_threads = nr;
	ggml_drover_barrier_init(&barrier, nr, 1);
	for (long ith = 1; ith < nr; ith++)
		if (pthread_create(&threads[ith], NULL, secondary_thread,
				   (void *)ith))
			abort();
}

/* ggml_graph_compute_kickoff(), and then the caller's part of the graph. */
static void compute_together(int team)
{
	pthread_mutex_lock(&mutex);
	ggml_drover_next_graph(&barrier, team);
	n_graph = (n_graph / 1024 + 1) * 1024 + team;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
	ggml_drover_begin_graph(&barrier, team);
	compute_graphs(0);
}

/* ggml_threadpool_free() */
static void end_threads(void)
{
	pthread_mutex_lock(&mutex);
	stop = true;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
	ggml_drover_end_graphs(&barrier);
	for (int ith = 1; ith < nr_threads; ith++)
		pthread_join(threads[ith], NULL);
	ggml_drover_barrier_free(&barrier);
}

#endif

/* Compute one graph, as ggml_graph_compute() does. */
static unsigned int graph_compute(int team)
{
	unsigned int sum = 0;

	for (int i = 0; i < NR_ROWS; i++)
		values[0][i] = i;
	n_threads = team;
	compute_together(team);
	for (int i = 0; i < NR_ROWS; i++)
		sum += values[NR_NODES % 2][i];
	return sum;
}

/* Compute graphs for so many milliseconds: print ns a node, and CPUs in use. */
static void measure(int team, int milliseconds)
{
	double begin = now(CLOCK_MONOTONIC), ns;
	double cpu = now(CLOCK_PROCESS_CPUTIME_ID);

	end = begin + milliseconds * 1e6;
	graph_compute(team);
	ns = now(CLOCK_MONOTONIC) - begin;
	cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	printf("%.1f %.2f\n", ns / nr_graphs / NR_NODES, cpu / ns);
}

int main(int argc, char **argv)
{
	unsigned int alone, wrong = 0;

	if (argc == 3 && atoi(argv[1]) <= NR_ROWS) {
		start_threads(atoi(argv[1]));
		measure(atoi(argv[1]), atoi(argv[2]));
		end_threads();
		return 0;
	}
	start_threads(MAX_THREADS);
	alone = graph_compute(1);
	/* Teams that grow, that shrink, and that are one thread. */
	for (int i = 0; i < NR_GRAPHS; i++)
		wrong += graph_compute(1 + i * i % 7 % MAX_THREADS) != alone;
	end_threads();
	printf("teams of 1 to %d threads: %u results differ\n", MAX_THREADS,
	       wrong);
	return wrong != 0;
}
