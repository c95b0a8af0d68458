/* SPDX-License-Identifier: MIT */
/*
 * The barrier that barrier-perf is compiled for, under names of its own:
 *
 *	struct impl_barrier
 *	impl_barrier_init() _destroy() _wait()
 *	impl, a struct bench_impl
 *
 * OpenMP's barrier belongs to a team that OpenMP itself has started. For it,
 * IMPL_HAS_TEAM is defined, and impl_team() runs a function in all threads.
 */
#ifndef BENCH_BARRIER_IMPL_H
#define BENCH_BARRIER_IMPL_H

#include "base/atomic.h"
#include "bench.h"

#if defined(IMPL_pthread) || defined(IMPL_drover)

#if defined(IMPL_drover)
#include <drover/barrier.h>
#include <drover/cond.h> /* drover_version() */
#define IMPL(name) drover_##name
#define SERIAL	   DROVER_BARRIER_SERIAL
#else
#define IMPL(name) pthread_##name
#define SERIAL	   PTHREAD_BARRIER_SERIAL_THREAD
#endif

struct impl_barrier {
	IMPL(barrier_t) b;
};

static inline void impl_barrier_init(struct impl_barrier *b, unsigned int count)
{
#if defined(IMPL_drover)
	int err = drover_barrier_init(&b->b, count, NULL);
#else
	int err = pthread_barrier_init(&b->b, NULL, count);
#endif

	bench_expect_0("barrier_init", err);
}

static inline void impl_barrier_destroy(struct impl_barrier *b)
{
	bench_expect_0("barrier_destroy", IMPL(barrier_destroy)(&b->b));
}

static inline void impl_barrier_wait(struct impl_barrier *b)
{
	int ret = IMPL(barrier_wait)(&b->b);

	if (__builtin_expect(ret && ret != SERIAL, 0))
		bench_call_failed("barrier_wait", ret);
}

static const char *impl_library(void)
{
	return bench_file_of((void (*)(void))IMPL(barrier_wait));
}

#if defined(IMPL_drover)
BENCH_IMPL("drover", "drover_barrier_t", drover_version);
#else
BENCH_IMPL("pthread", "pthread_barrier_t: never spins", bench_libc_version);
#endif

#elif defined(IMPL_spin)

#include <stdatomic.h>

/*
 * Waits as ggml's own threads wait for each other: one cache line counts the
 * threads that have come, one counts phases, and a waiting thread polls the
 * count of phases without end.
 */
struct impl_barrier {
	int count;
	atomic_int nr_here __attribute__((aligned(64)));
	atomic_int nr_passed __attribute__((aligned(64)));
};

static inline void impl_barrier_init(struct impl_barrier *b, unsigned int count)
{
	*b = (struct impl_barrier){ .count = count };
}

static inline void impl_barrier_destroy(struct impl_barrier *b)
{
	(void)b;
}

static inline void impl_barrier_wait(struct impl_barrier *b)
{
	int phase;

	if (b->count == 1)
		return;
	phase = atomic_load_explicit(&b->nr_passed, memory_order_relaxed);
	if (atomic_fetch_add(&b->nr_here, 1) == b->count - 1) {
		atomic_store_explicit(&b->nr_here, 0, memory_order_relaxed);
		atomic_fetch_add(&b->nr_passed, 1);
		return;
	}
	while (atomic_load_explicit(&b->nr_passed, memory_order_relaxed) ==
	       phase)
		cpu_relax();
	atomic_thread_fence(memory_order_seq_cst);
}

static const char *impl_library(void)
{
	return "(this program)";
}

BENCH_IMPL("spin", "spins without end, as ggml's threads do",
	   bench_compiler_version);

#elif defined(IMPL_gomp)

#define IMPL_HAS_TEAM

struct impl_barrier {
	char nothing;
};

static inline void impl_barrier_init(struct impl_barrier *b, unsigned int count)
{
	(void)b;
	(void)count;
}

static inline void impl_barrier_destroy(struct impl_barrier *b)
{
	(void)b;
}

static inline void impl_barrier_wait(struct impl_barrier *b)
{
	(void)b;
#pragma omp barrier
}

/* Call @rank_main(arg, rank) once in each of @count threads. */
static inline void impl_team(unsigned int count,
			     void (*rank_main)(void *arg, unsigned int rank),
			     void *arg)
{
	unsigned int next = 0;

#pragma omp parallel num_threads(count)
	{
		unsigned int rank;

#pragma omp atomic capture
		rank = next++;
		rank_main(arg, rank);
	}
}

extern void GOMP_barrier(void);

static const char *impl_library(void)
{
	return bench_file_of((void (*)(void))GOMP_barrier);
}

BENCH_IMPL("gomp", "OpenMP of the compiler; OMP_* applies",
	   bench_compiler_version);

#elif defined(IMPL_std)

/* Defined in std_barrier.cc */
struct impl_barrier {
	void *b;
};

void *std_barrier_new(unsigned int count);
void std_barrier_delete(void *b);
void std_barrier_wait(void *b);

static inline void impl_barrier_init(struct impl_barrier *b, unsigned int count)
{
	b->b = std_barrier_new(count);
}

static inline void impl_barrier_destroy(struct impl_barrier *b)
{
	std_barrier_delete(b->b);
}

static inline void impl_barrier_wait(struct impl_barrier *b)
{
	std_barrier_wait(b->b);
}

static const char *impl_library(void)
{
	return "libstdc++, inline";
}

BENCH_IMPL("std", "std::barrier of C++20", bench_compiler_version);

#else
#error "compile barrier-perf with -DIMPL_<name>, see tools/Makefile"
#endif

#endif
