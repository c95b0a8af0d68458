/* SPDX-License-Identifier: MIT */
/* Declarations for interpose.c, count.c and caller.c of libdrover-stat.so. */
#ifndef DROVER_INTERPOSE_H
#define DROVER_INTERPOSE_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "count.h"

/**
 * struct counting - the state of a thread
 * @shard: its shard, by the row of condition variable 0; NULL before the first
 *	call
 * @shared: whether other threads use @shard, too, so that each addition has to
 *	be atomic
 * @row: the row of the condition variable in whose wait the thread is, or NULL
 * @let_out: the condition variable that has just released the thread; NULL if
 *	the thread has unlocked a mutex or released another one since
 * @seen: whether a timed broadcast released the thread
 * @nr_releases, @nr_waits: the number of calls so far, plus a start value
 */
struct counting {
	struct row *shard;
	bool shared;
	struct row *row;
	const void *let_out;
	bool seen;
	uint32_t nr_releases;
	uint32_t nr_waits;
};

extern _Thread_local struct counting counting;
extern _Atomic(struct counts_file *) counts_file; /* NULL: do not count */

struct row *shard_take(struct counts_file *file);

/* The number of the slot in which a condition variable is looked for first. */
static inline uint32_t slot_first(uint64_t address)
{
	return (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 54);
}

_Static_assert(NR_CONDS == 1 << (64 - 54), "slot_first()");

/* The number of a condition variable's slot; 0 if it has none of its own. */
uint32_t slot_find(struct counts_file *file, uint64_t address);

/* Find the loaded file that has @address, and note it in @file; or NULL. */
const struct module *module_of(struct counts_file *file, uint64_t address);

/*
 * The return address in the program of a call that returns to @caller, which
 * may be in the C++ library. The calls outside it are noted as a stack.
 */
uint64_t site_of(struct counts_file *file, uint64_t caller);

/*
 * Put @wanted into @place if that is empty, and set @is_new if this call did.
 * Return: whether @place has @wanted.
 */
static inline bool is_there(_Atomic uint64_t *place, uint64_t wanted,
			    bool *is_new)
{
	uint64_t there = atomic_load_explicit(place, memory_order_relaxed);

	*is_new = !there &&
		  atomic_compare_exchange_strong(place, &there, wanted);
	return *is_new || there == wanted;
}

/* Count a call from @site. Once @row has NR_SITES, no other site is counted. */
void site_add(struct counts_file *file, struct row *row, uint64_t site);

#endif /* DROVER_INTERPOSE_H */
