/* SPDX-License-Identifier: MIT */
/*
 * What the threads of a ggml threadpool need to wait for each other, by
 * drover_barrier_t. Documentation/using-with-ggml.rst says which lines of ggml
 * call it.
 *
 * The threads that compute a graph are its team. They meet at @nodes after each
 * node; then all except the one that begins graphs wait at @graphs until it
 * arrives there as well. So a graph begins as a node does, and those that wait
 * for it poll, yield and sleep by the same rules.
 *
 * A thread that is let go at @graphs, and finds that the new graph has a smaller
 * team, has left the team. It sleeps on ggml's own condition variable until a
 * graph has a place for it.
 */
#ifndef DROVER_GGML_BARRIER_H
#define DROVER_GGML_BARRIER_H

#include <drover/barrier.h>
#include <stdlib.h>

/* Only the thread that begins graphs reads and writes @team. */
struct ggml_drover_barrier {
	drover_barrier_t nodes;
	drover_barrier_t graphs;
	int team; /* threads that come to @graphs, with the one that begins */
};

static inline void ggml_drover_init(drover_barrier_t *barrier, int n_threads,
				    uint32_t spin_us)
{
	const drover_barrierattr_t attr = { .spin_us = spin_us };

	if (drover_barrier_init(barrier, (unsigned int)n_threads, &attr))
		abort();
}

/*
 * For @n_threads threads, before they are made. All are in the first team.
 * Without @poll they sleep at once when there is no graph.
 */
static inline void ggml_drover_barrier_init(struct ggml_drover_barrier *b,
					    int n_threads, int poll)
{
	b->team = n_threads;
	ggml_drover_init(&b->nodes, n_threads, 0);
	ggml_drover_init(&b->graphs, n_threads,
			 poll ? 0 : DROVER_BARRIER_NO_SPIN);
}

/* After a node. */
static inline void ggml_drover_barrier_wait(struct ggml_drover_barrier *b)
{
	drover_barrier_wait(&b->nodes);
}

/* A thread of the team that is not the one that begins graphs: after a graph. */
static inline void ggml_drover_await_graph(struct ggml_drover_barrier *b)
{
	drover_barrier_wait(&b->graphs);
}

static inline void ggml_drover_count(drover_barrier_t *barrier, int n_threads)
{
	if (drover_barrier_set_count(barrier, (unsigned int)n_threads))
		abort();
}

/*
 * The next graph has @n_threads threads: to be called before any of them can know
 * of it. Nobody is at @nodes, since the caller has left it as the last graph ended.
 * One thread computes its graph alone, and the team goes on waiting.
 */
static inline void ggml_drover_next_graph(struct ggml_drover_barrier *b,
					  int n_threads)
{
	if (n_threads > 1 && n_threads != b->team)
		ggml_drover_count(&b->nodes, n_threads);
}

/*
 * Begin that graph: let the team go, which has been told of it. Nobody comes back
 * to @graphs before the caller has been at @nodes again, so there is time to count
 * the new team.
 */
static inline void ggml_drover_begin_graph(struct ggml_drover_barrier *b,
					   int n_threads)
{
	if (n_threads == 1)
		return;
	drover_barrier_wait(&b->graphs);
	if (n_threads != b->team)
		ggml_drover_count(&b->graphs, n_threads);
	b->team = n_threads;
}

/* Let the team go, which has been told that there are no more graphs. */
static inline void ggml_drover_end_graphs(struct ggml_drover_barrier *b)
{
	drover_barrier_wait(&b->graphs);
}

/* When the threads have ended. */
static inline void ggml_drover_barrier_free(struct ggml_drover_barrier *b)
{
	drover_barrier_destroy(&b->nodes);
	drover_barrier_destroy(&b->graphs);
}

#endif
