/* SPDX-License-Identifier: MIT */
/*
 * The threads of a ggml threadpool wait for each other at drover_barrier_t.
 * Documentation/using-with-ggml.rst says which lines of ggml call these
 * functions.
 *
 * The threads that compute a graph are its team. They meet at @nodes after each
 * node. After the graph all of them wait at @graphs, except the thread that
 * begins graphs. When that thread arrives there as well, the next graph begins.
 * So a graph begins as a node does, and threads that wait for it poll, yield
 * and sleep by the same rules.
 *
 * If the new graph has a smaller team, a thread that is let go at @graphs may
 * find that it has left the team. It then sleeps on ggml's own condition
 * variable until a graph has a place for it.
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
 * Make the barrier for @n_threads threads, before these are made. All are in
 * the first team. Without @poll they sleep at once when there is no graph.
 */
static inline void ggml_drover_barrier_init(struct ggml_drover_barrier *b,
					    int n_threads, int poll)
{
	b->team = n_threads;
	ggml_drover_init(&b->nodes, n_threads, 0);
	ggml_drover_init(&b->graphs, n_threads,
			 poll ? 0 : DROVER_BARRIER_NO_SPIN);
}

/* Called by the team after each node. */
static inline void ggml_drover_barrier_wait(struct ggml_drover_barrier *b)
{
	drover_barrier_wait(&b->nodes);
}

/* Called after a graph by the team, except the thread that begins graphs. */
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
 * The next graph has @n_threads threads. Call this before any of them can know
 * of that graph. No thread is at @nodes, because the caller left it when the
 * last graph ended. If the graph has one thread, the caller computes it alone,
 * and the team goes on waiting.
 */
static inline void ggml_drover_next_graph(struct ggml_drover_barrier *b,
					  int n_threads)
{
	if (n_threads > 1 && n_threads != b->team)
		ggml_drover_count(&b->nodes, n_threads);
}

/*
 * Begin that graph, of which the team has been told: let the team go. No thread
 * comes back to @graphs before the caller has been at @nodes again, so there is
 * time to set the count of the new team.
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

/* Called when the threads have ended. */
static inline void ggml_drover_barrier_free(struct ggml_drover_barrier *b)
{
	drover_barrier_destroy(&b->nodes);
	drover_barrier_destroy(&b->graphs);
}

#endif
