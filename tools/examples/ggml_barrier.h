/* SPDX-License-Identifier: MIT */
/*
 * What ggml's CPU threads need of a barrier, by drover_barrier_t.
 * Documentation/using-with-ggml.rst says which lines of ggml call it.
 */
#ifndef DROVER_GGML_BARRIER_H
#define DROVER_GGML_BARRIER_H

#include <drover/barrier.h>
#include <stdlib.h>

/* A threadpool's barrier, and the team that it counts just now. */
struct ggml_drover_barrier {
	drover_barrier_t barrier;
	int n_threads;
};

static inline void ggml_drover_barrier_init(struct ggml_drover_barrier *b,
					    int n_threads)
{
	b->n_threads = n_threads;
	if (drover_barrier_init(&b->barrier, (unsigned int)n_threads, NULL))
		abort();
}

/*
 * The next graph is computed by so many threads. Called by the thread that
 * kicks it off, before any of them can arrive.
 */
static inline void ggml_drover_barrier_team(struct ggml_drover_barrier *b,
					    int n_threads)
{
	if (n_threads == b->n_threads)
		return;
	b->n_threads = n_threads;
	if (drover_barrier_set_count(&b->barrier, (unsigned int)n_threads))
		abort();
}

static inline void ggml_drover_barrier_wait(struct ggml_drover_barrier *b)
{
	drover_barrier_wait(&b->barrier);
}

static inline void ggml_drover_barrier_free(struct ggml_drover_barrier *b)
{
	drover_barrier_destroy(&b->barrier);
}

#endif
