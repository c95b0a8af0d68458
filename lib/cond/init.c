// SPDX-License-Identifier: MIT
/* The entry points for the beginning and the end of a condition variable. */
#include <string.h>

#include "cond/group.h"

void cond_init(struct cond *c, clockid_t clock, bool shared)
{
	memset(c, 0, sizeof(*c));
	store_relaxed(&c->flags,
		      (clock == CLOCK_MONOTONIC ? COND_MONOTONIC : 0) |
			      (shared ? COND_SHARED : 0));
	if (shared)
		shared_cond_init(&c->shared);
}

void cond_destroy(struct cond *c, futex_word *target, const char *call)
{
	uint32_t flags = load_relaxed(&c->flags);

	if (flags & COND_SHARED) {
		shared_cond_destroy(&c->shared, target);
	} else {
		if (unlikely(flags & COND_SPECIAL))
			foreign_destroy(c);
		/*
		 * Released waiters do not use the condvar any more, but the
		 * signaller that released them may still be dropping the lock.
		 */
		cond_lock(c);
		if (DEBUG_BUILD &&
		    (group_lock_blocked(cond_closed(c), c) ||
		     group_lock_blocked(load_relaxed(&c->open), c)))
			debug_wrong(c, "condition variable",
				    "has threads waiting: wake them first",
				    call);
		lock_drop(&c->lock);
		lock_settle(&c->lock);
	}
	if (DEBUG_BUILD)
		store_relaxed(&c->flags, DEBUG_DESTROYED);
}
