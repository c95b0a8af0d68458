// SPDX-License-Identifier: MIT
/* Groups of waiters: their life, and the transitions listed in group.h. */
#include "cond/cond.h"

_Static_assert(sizeof(struct group) == SPARE_BYTES, "a cache line each");

struct group *group_new(struct cond *c, struct waiter *w, void *mutex,
			futex_word *pi_target)
{
	struct group *g = spare_get(w);

	if (unlikely(!g))
		return NULL;
	store_relaxed(&g->state, GROUP_BLOCKED | (pi_target ? 0 : GROUP_AWAKE));
	store_relaxed(&g->owner, c);
	store_relaxed(&g->mutex, mutex);
	store_relaxed(&g->pi_target, pi_target);
	store_relaxed(&g->ahead, 0);
	/*
	 * [G-REF] Pairs with the acquire in group_pin(). Without it a thread
	 * with an old pointer could pin the group and see its former owner.
	 */
	store_release(&g->refs, 1);
	return g;
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
 * [G-STATE] From here to group_unblock() the claimer uses the members' mutex; a
 * member acquires the state, and may then free that mutex.
 */
struct group *group_claim(struct group *g, struct cond *c)
{
	uint64_t state;

	if (!group_pin(g, c))
		return NULL;
	lock_take(&g->claim);
	state = load_relaxed(&g->state);
	while (group_nr_blocked(state))
		if (cas_acq_rel(&g->state, &state, state | GROUP_CLAIMED))
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
			to = (state & ~GROUP_CLAIMED) - GROUP_BLOCKED +
			     GROUP_TOKEN;
		else
			to = (state & kept) | GROUP_RELEASED;
		to |= moved;
	} while (!cas_acq_rel(&g->state, &state, to));
	lock_drop(&g->claim);
	return (uint32_t)to;
}

void group_interrupt(struct group *g, uint32_t bits)
{
	uint64_t state = load_relaxed(&g->state);
	uint64_t to;

	do {
		to = (state + GROUP_INTERRUPT) & GROUP_INTERRUPTS;
		to |= state & ~GROUP_INTERRUPTS;
	} while (!cas_acq_rel(&g->state, &state, to)); /* [W-WORD] */
	if (load_relaxed(&g->pi_target))
		cond_pi_wake(g, INT_MAX);
	else
		futex_wake_bits(LOW_HALF(&g->state), false, bits);
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
	uint64_t state = load_acquire(&g->state);

	for (;;) {
		/* Who cannot use a token leaves it to another, if there is one. */
		if (!(ends && group_nr_blocked(state)) && group_take(g, &state))
			return false;
		if (state & GROUP_CLAIMED) {
			lock_take(&g->claim);
			lock_drop(&g->claim);
			state = load_acquire(&g->state);
		} else if (cas_acq_rel(&g->state, &state,
				       state - GROUP_BLOCKED)) {
			break;
		}
	}
	if (ends && state & GROUP_TOKENS && !load_relaxed(&g->pi_target))
		futex_wake(LOW_HALF(&g->state), 1, false);
	return true;
}
