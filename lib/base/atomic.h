/* SPDX-License-Identifier: MIT */
/*
 * C11 atomics with the memory order in the name, so that no access has an
 * order by default. Every _Atomic object of the library goes through these.
 */
#ifndef DROVER_ATOMIC_H
#define DROVER_ATOMIC_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/compiler.h"

#define load_relaxed(p) atomic_load_explicit(p, memory_order_relaxed)
#define load_acquire(p) atomic_load_explicit(p, memory_order_acquire)
#define load_seq_cst(p) atomic_load_explicit(p, memory_order_seq_cst)

#define store_relaxed(p, v) atomic_store_explicit(p, v, memory_order_relaxed)
#define store_release(p, v) atomic_store_explicit(p, v, memory_order_release)
#define store_seq_cst(p, v) atomic_store_explicit(p, v, memory_order_seq_cst)

#define swap_relaxed(p, v) atomic_exchange_explicit(p, v, memory_order_relaxed)
#define swap_acquire(p, v) atomic_exchange_explicit(p, v, memory_order_acquire)
#define swap_release(p, v) atomic_exchange_explicit(p, v, memory_order_release)
#define swap_acq_rel(p, v) atomic_exchange_explicit(p, v, memory_order_acq_rel)
#define swap_seq_cst(p, v) atomic_exchange_explicit(p, v, memory_order_seq_cst)

#define add_relaxed(p, v) atomic_fetch_add_explicit(p, v, memory_order_relaxed)
#define and_relaxed(p, v) atomic_fetch_and_explicit(p, v, memory_order_relaxed)
#define or_relaxed(p, v)  atomic_fetch_or_explicit(p, v, memory_order_relaxed)
#define add_release(p, v) atomic_fetch_add_explicit(p, v, memory_order_release)
#define add_seq_cst(p, v) atomic_fetch_add_explicit(p, v, memory_order_seq_cst)
#define add_acq_rel(p, v) atomic_fetch_add_explicit(p, v, memory_order_acq_rel)
#define sub_acq_rel(p, v) atomic_fetch_sub_explicit(p, v, memory_order_acq_rel)
#define sub_seq_cst(p, v) atomic_fetch_sub_explicit(p, v, memory_order_seq_cst)
#define sub_release(p, v) atomic_fetch_sub_explicit(p, v, memory_order_release)

/* Compare and swap: true on success; on failure *old holds what was there. */
#define cas_ordered atomic_compare_exchange_strong_explicit
#define cas_relaxed(p, old, to) \
	cas_ordered(p, old, to, memory_order_relaxed, memory_order_relaxed)
#define cas_release(p, old, to) \
	cas_ordered(p, old, to, memory_order_release, memory_order_relaxed)
#define cas_acquire(p, old, to) \
	cas_ordered(p, old, to, memory_order_acquire, memory_order_relaxed)
#define cas_seq_cst(p, old, to) \
	cas_ordered(p, old, to, memory_order_seq_cst, memory_order_relaxed)
#define cas_acq_rel(p, old, to) \
	cas_ordered(p, old, to, memory_order_acq_rel, memory_order_acquire)

/* Tell the CPU that this is a short busy wait. */
static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#elif defined(__riscv)
	/* pause, a hint that older assemblers and CPUs do not know */
	__asm__ volatile(".4byte 0x100000f" ::: "memory");
#endif
}

#endif /* DROVER_ATOMIC_H */
