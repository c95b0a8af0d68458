// SPDX-License-Identifier: MIT
/* The groups of a condvar, its lock, and who keeps a group in use. */
#include "cond/cond.h"

_Static_assert(sizeof(struct group) == SPARE_BYTES, "a cache line each");

void cond_lock(struct cond *c)
{
	/* [CV-FORK] Pairs with the release in cond_drop_stale(). */
	if (unlikely(load_acquire(&c->generation) != fork_generation))
		cond_drop_stale(c);
	lock_take(&c->lock);
}

struct group *cond_closed(struct cond *c)
{
	uint64_t low = load_relaxed(&c->closed_low) & ~CLOSED_IS_THERE;
	uint64_t high = load_relaxed(&c->closed_high);

	return (struct group *)(uintptr_t)(high << 32 | low);
}

void cond_set_closed(struct cond *c, struct group *g)
{
	uint64_t at = (uintptr_t)g;

	store_relaxed(&c->closed_high, (uint32_t)(at >> 32));
	store_relaxed(&c->closed_low, g ? (uint32_t)at | CLOSED_IS_THERE : 0);
}

bool group_pin(struct group *g, struct cond *c)
{
	uint32_t refs = g ? load_relaxed(&g->refs) : 0;

	do {
		if (!refs)
			return false;
	} while (!cas_acquire(&g->refs, &refs, refs + 1)); /* [G-REF] */

	/* While we hold a reference, the owner does not change. */
	if (load_relaxed(&g->owner) == c)
		return true;
	group_unpin(g);
	return false;
}

void group_unpin(struct group *g)
{
	/* What others did with the group comes before its next use. */
	if (sub_acq_rel(&g->refs, 1) != 1)
		return;
	store_relaxed(&g->owner, NULL);
	spare_put(thread_this.waiter, g);
}
