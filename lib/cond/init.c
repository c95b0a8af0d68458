// SPDX-License-Identifier: MIT
/* The beginning and the end of a condition variable, and its life after fork. */
#include <string.h>

#include "cond/cond.h"

void cond_init(struct cond *c, clockid_t clock, bool shared)
{
	memset(c, 0, sizeof(*c));
	store_relaxed(&c->flags,
		      (clock == CLOCK_MONOTONIC ? COND_MONOTONIC : 0) |
			      (shared ? COND_SHARED : 0));
	if (shared)
		cond_shared_init(c);
}

#ifdef DROVER_DEBUG
void cond_debug_idle(struct cond *c, const char *call)
{
	if (cond_is_shared(c))
		return;
	cond_lock(c);
	if (group_claim(cond_closed(c), c) ||
	    group_claim(load_relaxed(&c->open), c))
		debug_wrong(c, "condition variable",
			    "has threads waiting: wake them first", call);
	lock_drop(&c->lock);
}
#endif

static void cond_destroy_private(struct cond *c)
{
	if (unlikely(load_relaxed(&c->flags) & COND_SPECIAL)) {
		/* After a fork, foreign waiters stayed in the parent, too. */
		if (load_acquire(&c->generation))
			cond_drop_stale(c);
		if (load_relaxed(&c->flags) & COND_SPECIAL)
			cond_await_foreign(c);
	}
	/*
	 * Released waiters have no business here any more, but the signaller
	 * that released them may not have dropped the lock yet.
	 */
	cond_lock(c);
	lock_drop(&c->lock);
	lock_settle(&c->lock);
}

void cond_destroy(struct cond *c, futex_word *target)
{
	if (cond_is_shared(c))
		cond_shared_destroy(c, target);
	else
		cond_destroy_private(c);
#ifdef DROVER_DEBUG
	store_relaxed(&c->flags, DEBUG_DESTROYED);
#endif
}

/*
 * First use of a private condvar, or first use in the child of a fork: its
 * waiters stayed in the parent, and so did the thread that may have held its
 * lock.
 */
void cond_drop_stale(struct cond *c)
{
	uint32_t unused = 0;

	if (!load_relaxed(&c->foreign_seq) &&
	    cas_acq_rel(&c->generation, &unused, fork_generation))
		return;
	lock_take(&fork_lock);
	if (load_relaxed(&c->generation) != fork_generation) {
		store_relaxed(&c->open, NULL);
		cond_set_closed(c, NULL);
		lock_reset(&c->lock);
		/* Foreign waiters, too. */
		and_relaxed(&c->flags, COND_MONOTONIC);
		store_relaxed(&c->foreign_seq, 0);
		store_relaxed(&c->foreign_refs, 0);
		store_relaxed(&c->foreign_size, 0);
		store_relaxed(&c->foreign_signals, 0);
		/* [CV-FORK] With the acquire in cond_lock(). */
		store_release(&c->generation, fork_generation);
	}
	lock_drop(&fork_lock);
}
