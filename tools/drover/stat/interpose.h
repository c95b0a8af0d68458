/* SPDX-License-Identifier: MIT */
/* The two halves of libdrover-stat.so: what is counted, and where. */
#ifndef DROVER_INTERPOSE_H
#define DROVER_INTERPOSE_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "count.h"

/**
 * struct counting - what a thread keeps to itself
 * @shard: its own, or one that others use, too: the row of condition variable
 *	   0; NULL before its first call
 * @shared: then they add up in atomic steps
 * @row: of the condition variable in whose wait it is, or NULL
 * @let_out: the condition variable whose wait it has just returned from, as it
 *	was released; NULL if it has unlocked a mutex or released somebody since
 * @seen: by a broadcast that was timed
 * @nr_releases, @nr_waits: so far, and where it began to count
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

/* Where a condition variable is looked for first. */
static inline uint32_t slot_first(uint64_t address)
{
	return (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 54);
}

_Static_assert(NR_CONDS == 1 << (64 - 54), "slot_first()");

/* The number of a condition variable; 0 if it has no place. */
uint32_t slot_find(struct counts_file *file, uint64_t address);

/* The file that an address is in, which is noted; or NULL. */
const struct module *module_of(struct counts_file *file, uint64_t address);

/*
 * Where in the program a call comes from, whose return address is @caller: past
 * the C++ library. The calls around it are noted.
 */
uint64_t site_of(struct counts_file *file, uint64_t caller);

/* Is @wanted in @place? It is put there if nothing is, and then @is_new. */
static inline bool is_there(_Atomic uint64_t *place, uint64_t wanted,
			    bool *is_new)
{
	uint64_t there = atomic_load_explicit(place, memory_order_relaxed);

	*is_new = !there &&
		  atomic_compare_exchange_strong(place, &there, wanted);
	return *is_new || there == wanted;
}

/* Count a call from @site; with NR_SITES there already, a further one is not. */
void site_add(struct counts_file *file, struct row *row, uint64_t site);

#endif /* DROVER_INTERPOSE_H */
