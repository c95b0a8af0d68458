// SPDX-License-Identifier: MIT
/*
 * Signal and broadcast: who is unblocked, and woken or moved to the mutex; and
 * who keeps a group in use.
 */
#include "cond/cond.h"
#include "cond/policy.h"

_Static_assert(sizeof(struct group) == SPARE_BYTES, "a cache line each");

/*
 * How many one call moves, if the caller holds the mutex: the kernel has two
 * locks of its own for so long, and does not let anything else run. A call costs
 * less than a twentieth of what it takes to move so many.
 */
#define SLICE 64

/* A kernel without requeue, or a sandbox: never cleared. */
static atomic_bool requeue_refused;

void cond_lock(struct cond *c)
{
	/* [CV-FORK] Pairs with the release in cond_drop_stale(). */
	if (unlikely(load_acquire(&c->generation) != fork_generation))
		cond_drop_stale(c);
	lock_take(&c->lock);
}

struct group *cond_closed(struct cond *c)
{
	uint32_t low = load_relaxed(&c->closed_low);
	uint64_t high = load_relaxed(&c->closed_high);

	if (!(low & CLOSED_IS_THERE))
		return NULL;
	low &= ~(CLOSED_IS_THERE | OPEN_IS_THERE);
	return (struct group *)(uintptr_t)(high << 32 | low);
}

void cond_set_groups(struct cond *c, struct group *closed, struct group *open)
{
	uint64_t at = (uintptr_t)closed;
	uint32_t low = (uint32_t)at | (closed ? CLOSED_IS_THERE : 0);

	store_relaxed(&c->open, open);
	store_relaxed(&c->closed_high, (uint32_t)(at >> 32));
	store_relaxed(&c->closed_low, low | (open ? OPEN_IS_THERE : 0));
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

/*
 * Asked without the lock, and with no ordering pair (memory-ordering.rst). It is
 * one look at both groups: each of them could be NULL at a time when the other is
 * not.
 */
inline int cond_unless_idle(struct cond *c, int (*verb)(struct cond *c))
{
	if (likely(!(load_relaxed(&c->flags) & COND_SPECIAL)) &&
	    likely(!load_relaxed(&c->closed_low)))
		return 0;
	return verb(c);
}

/*
 * [G-STATE] Until group_unblock() the claimer uses the members' mutex; a member acquires
 * the state, and may then free that mutex.
 */
struct group *group_claim(struct group *g, struct cond *c)
{
	if (!group_pin(g, c))
		return NULL;
	lock_take(&g->claim);
	if (group_blocked(g))
		return g;
	lock_drop(&g->claim);
	group_unpin(g);
	return NULL;
}

uint32_t group_unblock(struct group *g, int nr, uint64_t moved)
{
	const uint64_t kept = GROUP_INTERRUPTS | GROUP_MOVED | GROUP_AWAKE;
	uint64_t state = load_relaxed(&g->state);
	uint64_t to;

	do {
		if (nr == 1)
			to = state - GROUP_BLOCKED + GROUP_TOKEN;
		else
			to = (state & kept) | GROUP_RELEASED;
		to |= moved;
	} while (!cas_acq_rel(&g->state, &state, to));
	lock_drop(&g->claim);
	return (uint32_t)to;
}

/* What to do with @nr_waiters of a claimed group, whose mutex thus exists. */
static struct wake_plan plan_for(struct group *g, uint32_t nr_waiters)
{
	void *mutex = load_relaxed(&g->mutex);
	struct wake_plan plan = PLAN_WAKE_ALL;
	enum mutex_holder holder;
	futex_word *word;
	uint32_t held = LOCK_HELD;

	/* Should an only member fall asleep meanwhile, then it is woken. */
	if ((nr_waiters == 1 && load_relaxed(&g->state) & GROUP_AWAKE) ||
	    unlikely(load_relaxed(&g->pi_target)) || !mutex ||
	    load_relaxed(&requeue_refused))
		return plan;
	holder = user_mutex_holder(mutex, &word);
	if (holder == MUTEX_UNMOVABLE)
		return plan;
	plan = policy_plan(holder, nr_waiters);
	/* If nobody is woken, the caller's unlock has to begin the chain. */
	if (plan.move && plan.nr_wake == 0)
		cas_relaxed(word, &held, LOCK_CONTENDED);
	plan.target = word;
	store_relaxed(&g->ahead, plan.ahead);
	return plan;
}

/*
 * Release a claimed group that is no longer reachable from its condvar (@nr is
 * INT_MAX), or post to it (1), with the condvar's lock held, which is dropped.
 * Members are interchangeable: it does not matter which of them wakes or is
 * moved, nor that it may find the token taken (member_sleep()).
 *
 * Only the address of the mutex is used after the release: if a sleeper is left
 * it will lock that mutex, so it exists, and if none is, nothing moves.
 */
static void unblock(struct group *g, struct wake_plan plan, int nr,
		    struct lock *held)
{
	uint32_t word = group_unblock(g, nr, plan.move ? GROUP_MOVED : 0);
	int most = plan.nr_wake == 0 && nr > SLICE ? SLICE : nr;
	futex_word *slept_on = LOW_HALF(&g->state);
	long ret = -EAGAIN;

	if (held)
		lock_drop(held);
	/* After a release nobody sleeps on the word who is not free to go. */
	if (!(word & GROUP_AWAKE) && unlikely(load_relaxed(&g->pi_target))) {
		cond_pi_wake(g, nr);
	} else if (!(word & GROUP_AWAKE)) {
		/*
		 * If the word has changed since, sleepers are woken. Between two
		 * calls the chain cannot end: the mutex stays the caller's, or
		 * the older group has yet to be released.
		 */
		while (plan.move) {
			ret = futex_cmp_requeue(slept_on, word, plan.nr_wake,
						most, plan.target, false);
			PROBE_REQUEUE(load_relaxed(&g->owner), ret,
				      plan.nr_wake);
			if (ret < most || most == nr)
				break;
		}
		if (ret == -ENOSYS || ret == -EPERM)
			store_relaxed(&requeue_refused, true);
		if (ret < 0)
			wake_sleepers(slept_on, nr, false);
	}
	group_unpin(g);
}

HOT int cond_signal(struct cond *c)
{
	struct group *g;
	bool last;

	PROBE(signal, c, 0);
	if (unlikely(load_relaxed(&c->flags) & COND_SPECIAL) &&
	    cond_wake_special(c, false))
		return 0;
	cond_lock(c);
	g = group_claim(cond_closed(c), c);
	if (!g) {
		/* It is used up: the signal closes the open one. */
		g = group_claim(load_relaxed(&c->open), c);
		cond_set_groups(c, g, NULL);
	}
	last = !g || group_blocked(g) == 1;
	if (last) {
		cond_set_groups(c, NULL, load_relaxed(&c->open));
		lock_drop(&c->lock);
	}
	if (g)
		unblock(g, plan_for(g, 1), last ? INT_MAX : 1,
			last ? NULL : &c->lock);
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
		behind.target = LOW_HALF(&closed->state);
		/* If all of the older poll, those of the younger sleep there. */
		and_relaxed(&closed->state, ~GROUP_AWAKE);
		unblock(open, behind, INT_MAX, NULL);
		unblock(closed, plan, INT_MAX, NULL);
	} else {
		unblock(closed, plan, INT_MAX, NULL);
		unblock(open, behind, INT_MAX, NULL);
	}
}

HOT int cond_broadcast(struct cond *c)
{
	struct group *closed = NULL, *open;

	PROBE(broadcast, c, 0);
	if (unlikely(load_relaxed(&c->flags) & COND_SPECIAL) &&
	    cond_wake_special(c, true))
		return 0;
	cond_lock(c);
	if (load_relaxed(&c->closed_low) & CLOSED_IS_THERE)
		closed = group_claim(cond_closed(c), c);
	open = group_claim(load_relaxed(&c->open), c);
	store_relaxed(&c->open, NULL);
	store_relaxed(&c->closed_low, 0);
	lock_drop(&c->lock);

	if (closed && open) {
		release_both(closed, open);
	} else if (closed || open) {
		open = open ?: closed;
		unblock(open, plan_for(open, group_blocked(open)), INT_MAX,
			NULL);
	}
	return 0;
}
