// SPDX-License-Identifier: GPL-2.0-only
/*
 * The library under test and the scenarios are compiled with -fsanitize=thread.
 * So the compiler turns each atomic access into a call, and adds a call to each
 * plain access. This file has the functions that are called; ThreadSanitizer's
 * own are not linked.
 */
#include "engine.h"

const void *caller_pc;

/* Is @p explored? Memory that only its thread can access is not. */
static inline bool concerns(const void *p)
{
	return !quiet && !fiber_owns(p);
}

static void begin(const void *p, bool writes, const void *pc)
{
	self->at = p;
	step(memory_contended(p, writes));
	/* Other threads may have run meanwhile, and have changed these. */
	caller_pc = pc;
	check_given_back(p);
}

#define BEGIN(p, writes) \
	begin((const void *)(p), writes, __builtin_return_address(0))

/* ---- plain accesses ---- */

/*
 * Plain objects on a stack belong to its thread. Other threads reach only
 * atomic objects there, through a pointer. A plain write on a stack may begin a
 * new atomic object.
 */
static void plain(char *p, size_t size, bool writes)
{
	if (!fiber_stack(p))
		plain_access(p, size, writes);
	else if (writes)
		for (char *end = p + size; p < end; p += 4)
			memory_renew(p);
}

#define PLAIN(name, size, writes)                        \
	void __tsan_##name(void *p);                     \
	void __tsan_##name(void *p)                      \
	{                                                \
		if (!concerns(p))                        \
			return;                          \
		caller_pc = __builtin_return_address(0); \
		plain(p, size, writes);                  \
	}

#define PLAIN_SIZE(size)                         \
	PLAIN(read##size, size, false)           \
	PLAIN(write##size, size, true)           \
	PLAIN(unaligned_read##size, size, false) \
	PLAIN(unaligned_write##size, size, true)

PLAIN_SIZE(1)
PLAIN_SIZE(2)
PLAIN_SIZE(4)
PLAIN_SIZE(8)
PLAIN_SIZE(16)

#define RANGE(name, writes)                              \
	void __tsan_##name(void *p, size_t size);        \
	void __tsan_##name(void *p, size_t size)         \
	{                                                \
		if (!concerns(p))                        \
			return;                          \
		caller_pc = __builtin_return_address(0); \
		plain(p, size, writes);                  \
	}

RANGE(read_range, false)
RANGE(write_range, true)

/* ---- atomic accesses ---- */

/*
 * While nothing is explored, and for variables of the thread alone, the access
 * is made as the compiler would make it.
 */
#define CHANGE(bits, name, builtin, change, by)                            \
	uint##bits##_t __tsan_atomic##bits##_##name(                       \
		volatile void *p, uint##bits##_t with, int order);         \
	uint##bits##_t __tsan_atomic##bits##_##name(                       \
		volatile void *p, uint##bits##_t with, int order)          \
	{                                                                  \
		if (!concerns((const void *)p))                            \
			return builtin((volatile uint##bits##_t *)p, with, \
				       __ATOMIC_SEQ_CST);                  \
		BEGIN(p, true);                                            \
		return (uint##bits##_t)memory_change((void *)p, bits / 8,  \
						     change, by, order);   \
	}

#define CAS(bits, name)                                                       \
	bool __tsan_atomic##bits##_compare_exchange_##name(                   \
		volatile void *p, uint##bits##_t *old, uint##bits##_t to,     \
		int order, int order_failed);                                 \
	bool __tsan_atomic##bits##_compare_exchange_##name(                   \
		volatile void *p, uint##bits##_t *old, uint##bits##_t to,     \
		int order, int order_failed)                                  \
	{                                                                     \
		uint64_t found = *old;                                        \
		bool done;                                                    \
                                                                              \
		if (!concerns((const void *)p))                               \
			return __atomic_compare_exchange_n(                   \
				(volatile uint##bits##_t *)p, old, to, false, \
				__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);          \
		BEGIN(p, true);                                               \
		done = memory_cas((void *)p, bits / 8, &found, to, order,     \
				  order_failed);                              \
		*old = (uint##bits##_t)found;                                 \
		return done;                                                  \
	}

#define ATOMIC(bits)                                                       \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile void *p,  \
						  int order);              \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile void *p,  \
						  int order)               \
	{                                                                  \
		if (!concerns((const void *)p))                            \
			return *(const volatile uint##bits##_t *)p;        \
		BEGIN(p, false);                                           \
		return (uint##bits##_t)memory_load((void *)p, bits / 8,    \
						   order);                 \
	}                                                                  \
	void __tsan_atomic##bits##_store(volatile void *p,                 \
					 uint##bits##_t value, int order); \
	void __tsan_atomic##bits##_store(volatile void *p,                 \
					 uint##bits##_t value, int order)  \
	{                                                                  \
		if (!concerns((const void *)p)) {                          \
			*(volatile uint##bits##_t *)p = value;             \
			return;                                            \
		}                                                          \
		BEGIN(p, true);                                            \
		memory_store((void *)p, bits / 8, value, order);           \
	}                                                                  \
	CHANGE(bits, exchange, __atomic_exchange_n, SWAP, with)            \
	CHANGE(bits, fetch_add, __atomic_fetch_add, ADD, with)             \
	CHANGE(bits, fetch_sub, __atomic_fetch_sub, ADD, -(uint64_t)with)  \
	CHANGE(bits, fetch_and, __atomic_fetch_and, AND, with)             \
	CHANGE(bits, fetch_or, __atomic_fetch_or, OR, with)                \
	CHANGE(bits, fetch_xor, __atomic_fetch_xor, XOR, with)             \
	CAS(bits, strong)                                                  \
	CAS(bits, weak)

ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
	if (order != __ATOMIC_SEQ_CST)
		fault("weaker fences are not explored");
	if (!quiet)
		memory_fence();
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
	(void)order;
}

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_func_entry(void *pc);
void __tsan_func_entry(void *pc)
{
	(void)pc;
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}

void step_here(void)
{
	if (!quiet)
		step(true);
}
