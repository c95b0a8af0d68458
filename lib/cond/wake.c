// SPDX-License-Identifier: MIT
/* Signal and broadcast: who is unblocked, and woken or moved to the mutex. */
#include "cond/cond.h"
#include "cond/policy.h"

/* A kernel without requeue, or a sandbox: never cleared. */
static atomic_bool requeue_refused;

/* Pin a group of a locked condvar and claim it, if anybody is blocked in it. */
static struct group *cond_claim(struct cond *c, struct group *g)
{
	if (!g || !group_pin(g, c))
		return NULL;
	if (group_claim(g))
		return g;
	group_unpin(g);
	return NULL;
}

/*
 * What to do with @nr_waiters members of a claimed group, so that the mutex of
 * its members exists.
 */
static struct wake_plan plan_for(struct group *g, uint32_t nr_waiters)
{
	void *mutex = load_relaxed(&g->mutex);
	struct wake_plan plan = PLAN_WAKE_ALL;
	futex_word *word;

	/* Should an only member fall asleep meanwhile, then it is woken. */
	if ((nr_waiters == 1 && load_relaxed(&g->state) & GROUP_AWAKE) ||
	    unlikely(load_relaxed(&g->pi_target)) || !mutex ||
	    load_relaxed(&requeue_refused))
		return plan;
	word = user_mutex_word(mutex);
	if (!word)
		return plan;
	plan = policy_plan(user_mutex_holder(mutex), nr_waiters);
	/* If nobody is woken, the caller's unlock has to begin the chain. */
	if (plan.move && plan.nr_wake == 0)
		user_mutex_set_contended(word);
	plan.target = word;
	store_relaxed(&g->ahead, plan.ahead);
	return plan;
}

/*
 * Wake or move @nr sleepers (INT_MAX: all) of a pinned group. @word: its futex
 * word after the release or post; if it has changed since, sleepers are woken.
 *
 * Only the address of the mutex is used here: if a sleeper is left it will
 * lock that mutex, so it exists, and if none is, nothing moves.
 */
static void group_wake(struct group *g, uint32_t word, struct wake_plan plan,
		       int nr)
{
	long ret;

	if (unlikely(load_relaxed(&g->pi_target))) {
		cond_pi_wake(g, nr);
		return;
	}
	if (plan.move) {
		ret = futex_cmp_requeue(group_word(g), word, plan.nr_wake, nr,
					plan.target, false);
		PROBE_REQUEUE(load_relaxed(&g->owner), ret, plan.nr_wake);
		if (ret >= 0)
			return;
		if (ret == -ENOSYS || ret == -EPERM)
			store_relaxed(&requeue_refused, true);
	}
	sleep_end(group_word(g), nr, false);
}

/*
 * Release a whole group that is claimed and no longer reachable from its
 * condvar.
 */
static void release_by(struct group *g, struct wake_plan plan)
{
	uint32_t word = group_release(g, plan.move ? GROUP_MOVED : 0);

	/* Nobody sleeps on the word now who is not free to go. */
	if (!(word & GROUP_AWAKE))
		group_wake(g, word, plan, INT_MAX);
	group_unpin(g);
}

static void release(struct group *g)
{
	release_by(g, plan_for(g, group_blocked(g)));
}

/*
 * Choose the group that a signal goes to: the closed one, or when that is
 * used up, the open one, which is closed by it. Return: claimed, or NULL.
 */
static struct group *cond_claim_oldest(struct cond *c)
{
	struct group *g = cond_claim(c, cond_closed(c));

	if (g)
		return g;
	g = cond_claim(c, load_relaxed(&c->open));
	cond_set_closed(c, g);
	store_release(&c->open, NULL); /* [CV-EMPTY] */
	return g;
}

/*
 * Post to a group, with the condvar's lock held; drops it. Members are
 * interchangeable: it does not matter which of them wakes or is moved, nor
 * that it may find the token taken (member_sleep()).
 */
static void post(struct cond *c, struct group *g)
{
	struct wake_plan plan = plan_for(g, 1);
	uint32_t word = group_post(g, plan.move ? GROUP_MOVED : 0);

	lock_drop(&c->lock);
	if (!(word & GROUP_AWAKE))
		group_wake(g, word, plan, 1);
	group_unpin(g);
}

HOT int cond_signal(struct cond *c)
{
	struct group *g;

	PROBE(signal, c, 0);
	if (unlikely(cond_is_special(c))) {
		if (cond_is_shared(c)) {
			cond_shared_signal(c);
			return 0;
		}
		if (!cond_wake_foreign(c))
			return 0;
	}
	cond_lock(c);
	g = cond_claim_oldest(c);
	if (g && group_blocked(g) > 1) {
		post(c, g);
		return 0;
	}
	cond_set_closed(c, NULL);
	lock_drop(&c->lock);
	if (g)
		release(g);
	return 0;
}

/*
 * Two groups at once. If one thread is to be woken, for it to wake the next,
 * then one is enough for both: the younger group's sleepers are moved behind
 * the older one's first.
 */
APART static void release_both(struct group *closed, struct group *open)
{
	uint32_t nr = group_blocked(closed) + group_blocked(open);
	struct wake_plan plan = plan_for(closed, nr);
	struct wake_plan behind = plan_for(open, nr);

	if (load_relaxed(&closed->mutex) == load_relaxed(&open->mutex) &&
	    plan.move && plan.nr_wake == 1 && behind.move) {
		behind.nr_wake = 0;
		behind.target = group_word(closed);
		/* If all of the older poll, those of the younger sleep there. */
		and_relaxed(&closed->state, ~GROUP_AWAKE);
		release_by(open, behind);
		release_by(closed, plan);
	} else {
		release_by(closed, plan);
		release_by(open, behind);
	}
}

HOT int cond_broadcast(struct cond *c)
{
	struct group *closed, *open;

	PROBE(broadcast, c, 0);
	if (unlikely(cond_is_special(c))) {
		if (cond_is_shared(c)) {
			cond_shared_broadcast(c);
			return 0;
		}
		if (!cond_wake_foreign(c))
			return 0;
	}
	cond_lock(c);
	closed = cond_claim(c, cond_closed(c));
	open = cond_claim(c, load_relaxed(&c->open));
	cond_set_closed(c, NULL);
	store_relaxed(&c->open, NULL);
	lock_drop(&c->lock);

	if (closed && open)
		release_both(closed, open);
	else if (closed || open)
		release(closed ? closed : open);
	return 0;
}
