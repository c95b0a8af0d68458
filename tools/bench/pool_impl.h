/* SPDX-License-Identifier: MIT */
/*
 * The pool that pool-perf is compiled for, under names of its own:
 *
 *	impl_pool_start(threads)	the caller is one of them
 *	impl_pool_for(nr, part, arg)	part(i, arg) for each i below nr
 *	impl_pool_fork(depth, part, arg)
 *					2^depth parts by tasks; each task
 *					submits two more and waits for them
 *	impl_pool_end()
 *	impl, a struct bench_impl
 *
 * "spin" and "sleep" are two pools of this file. They differ only in how
 * workers wait for the next loop, and how the caller waits for its end.
 */
#ifndef BENCH_POOL_IMPL_H
#define BENCH_POOL_IMPL_H

#include "bench.h"

typedef void (*part_fn)(size_t nr, void *arg);

#if defined(IMPL_drover)

#include <drover/cond.h> /* drover_version() */
#include <drover/pool.h>

static drover_pool_t *impl_pool;

struct impl_parts {
	part_fn part;
	void *arg;
};

static inline void impl_pool_start(unsigned int threads)
{
	drover_poolattr_t attr = { .workers = threads - 1 };

	/* A single thread is the caller, so there is no pool. */
	if (threads > 1)
		bench_expect_0("drover_pool_create",
			       drover_pool_create(&impl_pool, &attr));
}

static int impl_run_parts(size_t begin, size_t end, void *arg)
{
	const struct impl_parts *parts = arg;

	for (; begin < end; begin++)
		parts->part(begin, parts->arg);
	return 0;
}

static inline void impl_pool_for(size_t nr, part_fn part, void *arg)
{
	struct impl_parts parts = { part, arg };

	if (!impl_pool)
		impl_run_parts(0, nr, &parts);
	else
		bench_expect_0("drover_pool_for",
			       drover_pool_for(impl_pool, 0, nr, 1,
					       impl_run_parts, &parts));
}

struct impl_fork {
	drover_task_t task;
	uint64_t depth;
	struct impl_parts parts;
};

static inline int impl_join(struct impl_fork *fork)
{
	return drover_pool_wait(impl_pool, &fork->task, NULL);
}

static int impl_run_fork(void *arg)
{
	struct impl_fork *fork = arg, halves[2] = { *fork, *fork };

	if (!fork->depth) {
		fork->parts.part(0, fork->parts.arg);
		return 0;
	}
	for (int i = 0; i < 2; i++) {
		halves[i].depth--;
		drover_task_init(&halves[i].task, impl_run_fork, &halves[i]);
		bench_expect_0("drover_pool_submit",
			       drover_pool_submit(impl_pool, &halves[i].task));
	}
	for (int i = 0; i < 2; i++)
		bench_expect_0("drover_pool_wait", impl_join(&halves[i]));
	return 0;
}

static inline void impl_pool_fork(uint64_t depth, part_fn part, void *arg)
{
	struct impl_fork root = { .depth = depth, .parts = { part, arg } };

	if (!impl_pool)
		impl_pool_start(2);
	drover_task_init(&root.task, impl_run_fork, &root);
	bench_expect_0("drover_pool_submit",
		       drover_pool_submit(impl_pool, &root.task));
	bench_expect_0("drover_pool_wait", impl_join(&root));
}

static inline void impl_pool_end(void)
{
	if (!impl_pool)
		return;
	bench_expect_0("drover_pool_shutdown",
		       drover_pool_shutdown(impl_pool, DROVER_POOL_DRAIN));
	bench_expect_0("drover_pool_free", drover_pool_free(impl_pool));
}

static const char *impl_library(void)
{
	return bench_file_of((void (*)(void))drover_pool_create);
}

BENCH_IMPL("drover", "drover_pool_t", drover_version);

#elif defined(IMPL_spin) || defined(IMPL_sleep)

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
	unsigned int nr_workers;
	pthread_t *threads;
	part_fn part; /* the present loop's; written before it begins */
	void *arg;
	size_t nr;
	_Atomic uint32_t loop __attribute__((aligned(64))); /* its number */
	_Atomic size_t next __attribute__((aligned(64)));
	_Atomic uint32_t nr_back __attribute__((aligned(64)));
	atomic_bool over;
} impl_pool;

/* Wait while @word is @value. */
static inline void impl_wait(_Atomic uint32_t *word, uint32_t value)
{
	while (atomic_load_explicit(word, memory_order_acquire) == value) {
#if defined(IMPL_spin)
#ifdef __x86_64__
		__builtin_ia32_pause();
#endif
#else
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL);
#endif
	}
}

static inline void impl_wake(_Atomic uint32_t *word)
{
#if defined(IMPL_sleep)
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX);
#else
	(void)word;
#endif
}

static inline void impl_take_parts(void)
{
	size_t i;

	while ((i = atomic_fetch_add(&impl_pool.next, 1)) < impl_pool.nr)
		impl_pool.part(i, impl_pool.arg);
}

static void *impl_worker(void *arg)
{
	uint32_t loop = 0;

	for (;;) {
		impl_wait(&impl_pool.loop, loop);
		loop++;
		if (atomic_load(&impl_pool.over))
			return arg;
		impl_take_parts();
		if (atomic_fetch_add(&impl_pool.nr_back, 1) + 1 ==
		    impl_pool.nr_workers)
			impl_wake(&impl_pool.nr_back);
	}
}

static inline void impl_pool_start(unsigned int threads)
{
	impl_pool.nr_workers = threads - 1;
	impl_pool.threads = bench_alloc(threads, sizeof(pthread_t));
	for (unsigned int i = 0; i < impl_pool.nr_workers; i++)
		bench_expect_0("pthread_create",
			       pthread_create(&impl_pool.threads[i], NULL,
					      impl_worker, NULL));
}

static inline void impl_begin_loop(void)
{
	atomic_store(&impl_pool.next, 0);
	atomic_store(&impl_pool.nr_back, 0);
	atomic_fetch_add(&impl_pool.loop, 1);
	impl_wake(&impl_pool.loop);
}

static inline void impl_pool_for(size_t nr, part_fn part, void *arg)
{
	uint32_t back;

	impl_pool.part = part;
	impl_pool.arg = arg;
	impl_pool.nr = nr;
	impl_begin_loop();
	impl_take_parts();
	while ((back = atomic_load(&impl_pool.nr_back)) < impl_pool.nr_workers)
		impl_wait(&impl_pool.nr_back, back);
}

/* These pools have no tasks, so a loop runs the parts. */
static inline void impl_pool_fork(uint64_t depth, part_fn part, void *arg)
{
	impl_pool_for((size_t)1 << depth, part, arg);
}

static inline void impl_pool_end(void)
{
	atomic_store(&impl_pool.over, true);
	impl_begin_loop();
	for (unsigned int i = 0; i < impl_pool.nr_workers; i++)
		pthread_join(impl_pool.threads[i], NULL);
	free(impl_pool.threads);
}

static const char *impl_library(void)
{
	return "(this program)";
}

#if defined(IMPL_spin)
BENCH_IMPL("spin", "workers that spin without end", bench_compiler_version);
#else
BENCH_IMPL("sleep", "workers that sleep at once", bench_compiler_version);
#endif

#elif defined(IMPL_gomp)

static int impl_threads;

static inline void impl_pool_start(unsigned int threads)
{
	impl_threads = (int)threads;
}

static inline void impl_pool_for(size_t nr, part_fn part, void *arg)
{
#pragma omp parallel num_threads(impl_threads)
#pragma omp single
#pragma omp taskloop grainsize(1)
	for (size_t i = 0; i < nr; i++)
		part(i, arg);
}

static void impl_run_fork(uint64_t depth, part_fn part, void *arg)
{
	if (!depth) {
		part(0, arg);
		return;
	}
	for (int i = 0; i < 2; i++) {
#pragma omp task
		impl_run_fork(depth - 1, part, arg);
	}
#pragma omp taskwait
}

static inline void impl_pool_fork(uint64_t depth, part_fn part, void *arg)
{
#pragma omp parallel num_threads(impl_threads)
#pragma omp single
	impl_run_fork(depth, part, arg);
}

static inline void impl_pool_end(void)
{
}

extern int omp_get_max_threads(void);

static const char *impl_library(void)
{
	return bench_file_of((void (*)(void))omp_get_max_threads);
}

BENCH_IMPL("gomp", "OpenMP tasks of the compiler; OMP_* applies",
	   bench_compiler_version);

#elif defined(IMPL_tbb)

/* Defined in tbb_pool.cc */
void tbb_pool_start(unsigned int threads);
void tbb_pool_for(size_t nr, part_fn part, void *arg);
void tbb_pool_fork(uint64_t depth, part_fn part, void *arg);
void tbb_pool_end(void);
const char *tbb_pool_version(void);

#define impl_pool_start tbb_pool_start
#define impl_pool_for	tbb_pool_for
#define impl_pool_fork	tbb_pool_fork
#define impl_pool_end	tbb_pool_end

static const char *impl_library(void)
{
	return "libtbb";
}

BENCH_IMPL("tbb", "oneTBB", tbb_pool_version);

#elif defined(IMPL_eigen) || defined(IMPL_eigen_sleep)

/* Defined in eigen_pool.cc */
void eigen_pool_start(unsigned int threads, bool spins);
void eigen_pool_for(size_t nr, part_fn part, void *arg);
void eigen_pool_end(void);
const char *eigen_pool_version(void);

#if defined(IMPL_eigen)
#define impl_pool_start(threads) eigen_pool_start(threads, true)
#else
#define impl_pool_start(threads) eigen_pool_start(threads, false)
#endif
#define impl_pool_for eigen_pool_for
#define impl_pool_end eigen_pool_end

/*
 * A task of this pool that waits for another one blocks its thread. So a loop
 * runs the parts.
 */
static inline void impl_pool_fork(uint64_t depth, part_fn part, void *arg)
{
	impl_pool_for((size_t)1 << depth, part, arg);
}

static const char *impl_library(void)
{
	return "(this program)";
}

#if defined(IMPL_eigen)
BENCH_IMPL("eigen", "Eigen's pool, whose workers spin", eigen_pool_version);
#else
BENCH_IMPL("eigen_sleep", "Eigen's pool with spinning off", eigen_pool_version);
#endif

#elif defined(IMPL_ort) || defined(IMPL_ort_sleep)

/* Defined in ort_pool.cc */
void ort_pool_start(unsigned int threads, bool spins);
void ort_pool_for(size_t nr, part_fn part, void *arg);
void ort_pool_end(void);
const char *ort_pool_version(void);

#if defined(IMPL_ort)
#define impl_pool_start(threads) ort_pool_start(threads, true)
#else
#define impl_pool_start(threads) ort_pool_start(threads, false)
#endif
#define impl_pool_for ort_pool_for
#define impl_pool_end ort_pool_end

/* A loop runs the parts, for the same reason as in Eigen's pool. */
static inline void impl_pool_fork(uint64_t depth, part_fn part, void *arg)
{
	impl_pool_for((size_t)1 << depth, part, arg);
}

static const char *impl_library(void)
{
	return "(this program)";
}

#if defined(IMPL_ort)
BENCH_IMPL("ort", "onnxruntime's pool, whose workers spin", ort_pool_version);
#else
BENCH_IMPL("ort_sleep", "onnxruntime's pool with spinning off",
	   ort_pool_version);
#endif

#else
#error "compile pool-perf with -DIMPL_<name>, see tools/Makefile"
#endif

#endif
