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
 * @nr_releases, @nr_waits: so far, and where it began to count
 */
struct counting {
	struct row *shard;
	bool shared;
	struct row *row;
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

/* Count a call from @site; with NR_SITES there already, a further one is not. */
void site_add(struct counts_file *file, struct row *row, uint64_t site);

#endif /* DROVER_INTERPOSE_H */
