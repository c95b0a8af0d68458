/* SPDX-License-Identifier: MIT */
/* Counts that are written under a lock; the watchdog reads them without it. */
#ifndef BENCH_PEEK_H
#define BENCH_PEEK_H

#include <stdatomic.h>
#include <stdint.h>

static inline uint64_t get(const _Atomic uint64_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

static inline void set(_Atomic uint64_t *value, uint64_t to)
{
	atomic_store_explicit(value, to, memory_order_relaxed);
}

/* The caller holds the lock under which @value is written. */
static inline uint64_t count_up(_Atomic uint64_t *value)
{
	set(value, get(value) + 1);
	return get(value);
}

#endif
