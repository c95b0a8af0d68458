// SPDX-License-Identifier: MIT
/* Unblocking one waiter. */
#include "cond/cond.h"

struct group *cond_claim(struct cond *c, struct group *g)
{
	if (!g || !group_pin(g, c))
		return NULL;
	if (group_claim(g))
		return g;
	group_unpin(g);
	return NULL;
}

/*
 * Choose the group that this signal goes to: the closed one, or when that is
 * used up, the open one, which is closed by it. Return: claimed, or NULL.
 */
static struct group *cond_claim_oldest(struct cond *c)
{
	struct group *g = cond_claim(c, load_relaxed(&c->closed));

	if (g)
		return g;
	g = cond_claim(c, load_relaxed(&c->open));
	store_relaxed(&c->closed, g);
	store_release(&c->open, NULL); /* [CV-EMPTY] */
	return g;
}

/*
 * Post to a group, with the condvar's lock held; drops it. Members are
 * interchangeable: it does not matter which of them wakes or is moved, nor that it
 * may find the token taken (member_sleep()).
 */
APART static void cond_post(struct cond *c, struct group *g,
			    const struct mutex_ops *ops, bool hopeful)
{
	struct wake_plan plan = { 0 };
	uint32_t word;

	if (group_blocked(g) == 1)
		store_relaxed(&c->closed, NULL);
	/* Who is on its way may arrive before the post: then one is woken. */
	if (!group_has_relay(g))
		plan = cond_plan(g, ops, 1, hopeful);
	word = group_post(g, plan.move ? GROUP_MOVED : 0);
	thread_this.herd = g;
	cond_unlock(c);
	if (!group_is_on_its_way(g, word))
		cond_wake(g, word, plan, 1);
	group_unpin(g);
}

void cond_signal(struct cond *c, const struct mutex_ops *ops)
{
	struct group *g;
	bool hopeful;

	if (c->flags & COND_SHARED) {
		cond_shared_signal(c);
		return;
	}
	cond_lock(c);
	g = cond_claim_oldest(c);
	if (thread_this.idle == c) {
		policy_learn_batch(c, thread_this.idle_again);
		thread_this.idle = NULL;
	}
	hopeful = policy_hopeful(c, 1);
	if (g)
		c->herds = 0;
	/* A release would wake those, too, for whom others are on their way. */
	if (g && (group_blocked(g) > 1 || group_has_relay(g))) {
		cond_post(c, g, ops, hopeful);
		return;
	}
	store_relaxed(&c->closed, NULL);
	cond_unlock(c);
	if (g)
		cond_release(g, ops, hopeful);
}
