// SPDX-License-Identifier: MIT
/* Unblocking all waiters. */
#include "cond/cond.h"

/*
 * Two groups at once. If one thread is to be woken, for it to wake the next,
 * then one is enough for both: the younger group's sleepers are moved behind
 * the older one's first.
 */
APART static void cond_release_both(struct group *closed, struct group *open,
				    const struct mutex_ops *ops, bool hopeful)
{
	struct wake_plan plan, behind;
	uint32_t nr = group_blocked(closed) + group_blocked(open);

	plan = cond_plan(closed, ops, nr, hopeful);
	behind = cond_plan(open, ops, nr, hopeful);
	if (load_relaxed(&closed->mutex) == load_relaxed(&open->mutex) &&
	    plan.move && plan.nr_wake == 1 && behind.move) {
		behind.nr_wake = 0;
		behind.target = group_word(closed);
		cond_release_by(open, behind);
		cond_release_by(closed, plan);
	} else {
		cond_release_by(closed, plan);
		cond_release_by(open, behind);
	}
}

static uint32_t nr_claimed(struct group *g)
{
	return g ? group_blocked(g) : 0;
}

void cond_broadcast(struct cond *c, const struct mutex_ops *ops)
{
	struct group *closed, *open;
	enum herd_state herd = HERD_SLEEPS;
	bool hopeful;
	uint32_t nr;

	if (c->flags & COND_SHARED) {
		cond_shared_broadcast(c);
		return;
	}
	cond_lock(c);
	closed = cond_claim(c, load_relaxed(&c->closed));
	open = cond_claim(c, load_relaxed(&c->open));
	store_relaxed(&c->closed, NULL);
	store_relaxed(&c->open, NULL);
	nr = nr_claimed(closed) + nr_claimed(open);
	hopeful = nr && policy_hopeful(c, nr);
	if (open && nr > 1) {
		herd = policy_stayed(c, open, nr);
		store_relaxed(&open->herd, herd);
	}
	cond_unlock(c);

	if (nr > 1 && herd != HERD_GATHERS)
		thread_this.herd = open ? open : closed;
	if (closed && open)
		cond_release_both(closed, open, ops, hopeful);
	else if (nr)
		cond_release(closed ? closed : open, ops, hopeful);
}
