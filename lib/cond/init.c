// SPDX-License-Identifier: MIT
/* The beginning and the end of a condition variable, and its life after fork. */
#include <string.h>

#include "cond/cond.h"

void cond_init(struct cond *c, uint32_t flags)
{
	memset(c, 0, sizeof(*c));
	c->flags = flags;
	if (!(flags & COND_SHARED))
		store_relaxed(&c->life, process_life);
}

#ifdef DROVER_DEBUG
static void debug_nobody_waits(struct cond *c, struct group *g,
			       const char *call)
{
	if (!g || !group_pin(g, c))
		return;
	if (group_blocked(g))
		debug_wrong(c, "condition variable",
			    "has threads waiting: wake them first", call);
	group_unpin(g);
}
#endif

/* No longer a condvar; @call: the function that was called. */
static void cond_end(struct cond *c, const char *call)
{
#ifdef DROVER_DEBUG
	if (!(c->flags & COND_SHARED)) {
		debug_nobody_waits(c, load_relaxed(&c->open), call);
		debug_nobody_waits(c, load_relaxed(&c->closed), call);
	}
	c->flags = DEBUG_DESTROYED;
#else
	(void)c;
	(void)call;
#endif
}

void cond_destroy(struct cond *c, const char *call)
{
	if (c->flags & COND_SHARED) {
		cond_shared_destroy(c);
		cond_end(c, call);
		return;
	}
	/*
	 * Released waiters have no business here any more, but the signaller
	 * that released them may not have dropped the lock yet.
	 */
	cond_lock(c);
	cond_end(c, call);
	store_relaxed(&c->open, NULL);
	store_relaxed(&c->closed, NULL);
	cond_unlock(c);
}

/* Held by the one thread that starts a condvar anew. */
static futex_word ghosts_lock;

void cond_after_fork(void)
{
	store_relaxed(&ghosts_lock, 0);
}

/*
 * First use of a private condvar in the child of a fork (or of one that is
 * all zero bytes): its waiters stayed in the parent, and so did the thread
 * that may have held its lock.
 */
void cond_drop_ghosts(struct cond *c)
{
	lock_take(&ghosts_lock, false);
	if (load_relaxed(&c->life) != process_life) {
		store_relaxed(&c->open, NULL);
		store_relaxed(&c->closed, NULL);
		store_relaxed(&c->lock, 0);
		/* [CV-LIFE] With the acquire in cond_lock(). */
		store_release(&c->life, process_life);
	}
	lock_drop(&ghosts_lock, false);
}
