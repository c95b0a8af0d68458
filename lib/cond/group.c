// SPDX-License-Identifier: MIT
/*
 * Groups of waiters, and the two groups that a private condition variable
 * names: where groups come from, each change of their state, and where they are
 * freed.
 */
#include <string.h>

#include "base/fork.h"
#include "cond/group.h"

_Static_assert(sizeof(struct group) == ARENA_ITEM, "a cache line each");

/*
 * [CV-FORK] Two threads of a forked child meet on a condvar of the parent.
 *
 *	CPU 0: drops what is stale		CPU 1: takes the lock
 *
 *	store closed, open, lock = 0
 *	release: generation = ours	--->	acquire: generation == ours
 *						load lock, closed, open
 *
 * If CPU 1 finds the new generation, it finds neither the parent's lock, which
 * no thread of the child would ever drop, nor the parent's groups.
 */
void cond_lock(struct cond *c)
{
	if (unlikely(load_acquire(&c->generation) != fork_generation()))
		cond_drop_stale(c); /* [CV-FORK] */
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

/*
 * In the child of a fork the waiters have stayed in the parent, and so has the
 * thread that may have held the lock. A condvar that is used for the first time
 * only needs its generation.
 */
void cond_drop_stale(struct cond *c)
{
	uint32_t unused = 0, ours = fork_generation_own();

	if (!load_relaxed(&c->foreign_seq) &&
	    cas_acq_rel(&c->generation, &unused, ours))
		return;
	lock_take(&wiped.lock);
	if (load_relaxed(&c->generation) != ours) {
		cond_set_groups(c, NULL, NULL);
		memset(&c->lock, 0, sizeof(c->lock));
		/* The foreign waiters have stayed in the parent, too. */
		and_relaxed(&c->flags, COND_MONOTONIC);
		store_relaxed(&c->foreign_seq, 0);
		store_relaxed(&c->foreign_refs, 0);
		store_relaxed(&c->foreign_size, 0);
		store_relaxed(&c->foreign_signals, 0);
		store_release(&c->generation, ours); /* [CV-FORK] */
	}
	lock_drop(&wiped.lock);
}

struct group *group_start(struct cond *c, struct waiter *w, void *mutex,
			  futex_word *pi_target)
{
	struct group *g = w->spare, *closed = cond_closed(c);

	if (unlikely(!g))
		return NULL;
	w->spare = NULL;
	store_relaxed(&g->state,
		      GROUP_BLOCKED | (pi_target ? 0 : GROUP_NO_SLEEPERS));
	store_relaxed(&g->owner, c);
	store_relaxed(&g->mutex, mutex);
	store_relaxed(&g->pi_target, pi_target);
	store_relaxed(&g->ahead, 0);
	store_release(&g->refs, 1); /* [G-REF] */
	/*
	 * If all members of the closed group have timed out, the condvar still
	 * names that group, and @g may be that very group. One group must not
	 * be both closed and open: arrivals would join the group to which
	 * signals go.
	 */
	cond_set_groups(c, closed == g ? NULL : closed, g);
	return g;
}

void cond_await_flags(struct cond *c, uint32_t left)
{
	uint32_t flags = or_relaxed(&c->flags, COND_DESTROYED) | COND_DESTROYED;

	while (flags & left) {
		futex_wait(&c->flags, flags, NULL, false);
		flags = load_acquire(&c->flags);
	}
}

/*
 * [G-REF] A group is recycled while a signaller of its former owner has an old
 * pointer to it.
 *
 *	CPU 0: starts it for d			CPU 1: signals c
 *
 *	store owner = d
 *	release: refs = 1		--->	acquire: refs 1 -> 2
 *						load owner
 *
 * If CPU 1 finds the pin of CPU 0, it also finds d as the owner. Without this
 * order CPU 1 would give the signal for c to a waiter of d.
 */
bool group_pin(struct group *g, struct cond *c)
{
	uint32_t refs = g ? load_relaxed(&g->refs) : 0;

	do {
		if (!refs)
			return false;
	} while (!cas_acquire(&g->refs, &refs, refs + 1)); /* [G-REF] */

	/* The owner does not change while the caller has a pin. */
	if (load_relaxed(&g->owner) == c)
		return true;
	group_unpin(g);
	return false;
}

/*
 * The thread that drops the last pin frees the group.
 *
 *	CPU 0: not the last			CPU 1: the last
 *
 *	use the group
 *	release: refs 2 -> 1		--->	acquire: refs 1 -> 0
 *						free the group; its next user
 *						stores to it
 *
 * No store of CPU 0 comes after those of the next user.
 */
void group_unpin(struct group *g)
{
	struct waiter *w = thread_this.waiter;

	if (sub_acq_rel(&g->refs, 1) != 1)
		return;
	store_relaxed(&g->owner, NULL);
	if (likely(w && !w->spare))
		w->spare = g;
	else
		arena_put(ARENA_GROUPS, g);
}

struct group *group_lock_blocked(struct group *g, struct cond *c)
{
	if (!group_pin(g, c))
		return NULL;
	lock_take(&g->lock);
	if (group_blocked(g))
		return g;
	lock_drop(&g->lock);
	group_unpin(g);
	return NULL;
}

/*
 * [G-STATE] A signaller uses the members' mutex until it unblocks one of them.
 *
 *	CPU 0: signaller, with @lock		CPU 1: member
 *
 *	look at the mutex, mark it contended
 *	release: post, or release	--->	acquire: the state
 *						return; unlock the mutex,
 *						destroy and free it
 *
 * If CPU 1 finds that it is unblocked, CPU 0 no longer touches the mutex.
 */
uint32_t group_unblock(struct group *g, int nr, uint64_t moved)
{
	const uint64_t kept = GROUP_CANCELS | GROUP_MOVED | GROUP_NO_SLEEPERS;
	uint64_t state = load_relaxed(&g->state);
	uint64_t to;

	do {
		if (nr == 1)
			to = state - GROUP_BLOCKED + GROUP_TOKEN;
		else
			to = (state & kept) | GROUP_RELEASED;
		to |= moved;
	} while (!cas_acq_rel(&g->state, &state, to)); /* [G-STATE] */
	lock_drop(&g->lock);
	return (uint32_t)to;
}

bool group_take(struct group *g, uint64_t *state)
{
	for (;;) {
		if (*state & GROUP_RELEASED)
			return true;
		if (!(*state & GROUP_TOKENS))
			return false;
		if (cas_acq_rel(&g->state, state, *state - GROUP_TOKEN))
			return true;
	}
}

bool group_leave(struct group *g, bool ends)
{
	uint64_t state;
	bool leaves;

	lock_take(&g->lock);
	state = load_acquire(&g->state);
	/*
	 * A thread that ends cannot use a token. It leaves the token to another
	 * member, if there is one for which no signal was posted.
	 */
	leaves = (ends && group_nr_blocked(state)) || !group_take(g, &state);
	if (leaves)
		state = sub_acq_rel(&g->state, GROUP_BLOCKED);
	lock_drop(&g->lock);
	/* The wake-up for that token may have come to the thread that ends. */
	if (leaves && ends && state & GROUP_TOKENS &&
	    !load_relaxed(&g->pi_target))
		futex_wake(LOW_HALF(&g->state), 1, false);
	return leaves;
}
