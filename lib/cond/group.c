// SPDX-License-Identifier: MIT
/* Groups of waiters: their life, and the transitions listed in group.h. */
#include <limits.h>
#include <stdlib.h>

#include "cond/cond.h"

_Static_assert(sizeof(struct group) == 64, "a cache line each");

#define GROUPS_PER_CHUNK (CHUNK_BYTES / sizeof(struct group))

/* Groups in nobody's use; threads keep a few more of their own. */
static struct {
	futex_word lock;
	struct group *first; /* [lock] */
} spare;

/* Get GROUPS_PER_CHUNK groups; all but the one returned go to the list. */
COLD static struct group *spare_grow(void)
{
	struct group *chunk = map_chunk();

	for (size_t i = 1; chunk && i < GROUPS_PER_CHUNK; i++) {
		chunk[i].next = spare.first;
		spare.first = &chunk[i];
	}
	return chunk;
}

APART static struct group *spare_get_shared(void)
{
	struct group *g;

	lock_take(&spare.lock, false);
	g = spare.first;
	if (g)
		spare.first = g->next;
	else
		g = spare_grow();
	lock_drop(&spare.lock, false);
	return g;
}

static struct group *spare_get(struct waiter *w)
{
	if (likely(w->nr_spares))
		return w->spares[--w->nr_spares];
	return spare_get_shared();
}

APART static void spare_put_shared(struct group *g)
{
	lock_take(&spare.lock, false);
	g->next = spare.first;
	spare.first = g;
	lock_drop(&spare.lock, false);
}

static void spare_put(struct waiter *w, struct group *g)
{
	if (likely(w->nr_spares < WAITER_SPARES))
		w->spares[w->nr_spares++] = g;
	else
		spare_put_shared(g);
}

void group_drop_spares(struct waiter *w)
{
	lock_take(&spare.lock, false);
	while (w->nr_spares) {
		struct group *g = w->spares[--w->nr_spares];

		g->next = spare.first;
		spare.first = g;
	}
	lock_drop(&spare.lock, false);
}

void group_after_fork(void)
{
	store_relaxed(&spare.lock, 0);
	spare.first = NULL;
}

struct group *group_new(struct cond *c, struct waiter *w, void *mutex,
			futex_word *pi_target, uint64_t awake)
{
	struct group *g = spare_get(w);

	if (unlikely(!g))
		return NULL;
	store_relaxed(&g->state, GROUP_BLOCKED | awake);
	store_relaxed(&g->owner, c);
	store_relaxed(&g->mutex, mutex);
	g->first = w;
	store_relaxed(&g->pi_target, pi_target);
	store_relaxed(&g->lesson, LESSON_NONE);
	store_relaxed(&g->ahead, 0);
	store_relaxed(&g->stays, 0);
	store_relaxed(&g->relays, false);
	store_relaxed(&g->herd, HERD_SLEEPS);
	store_relaxed(&g->slept, 0);
	g->began = 0;
	/*
	 * [G-REF] Pairs with the acquire in group_pin(). Without it a thread
	 * with an old pointer could pin the group and see its former owner.
	 */
	store_release(&g->refs, 1);
	return g;
}

bool group_pin(struct group *g, struct cond *c)
{
	uint32_t refs = load_relaxed(&g->refs);

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
	spare_put(waiter_self(), g);
}

void group_join(struct group *g, void *mutex)
{
	if (load_relaxed(&g->mutex) != mutex)
		store_relaxed(&g->mutex, NULL);
	add_relaxed(&g->state, GROUP_BLOCKED);
	group_fall_asleep(g);
}

bool group_join_open(struct group *g, const void *mutex)
{
	uint64_t state = load_relaxed(&g->state);

	if (load_relaxed(&g->mutex) != mutex)
		return false;
	do {
		if (state & (GROUP_CLAIMED | GROUP_AWAKE | GROUP_TOKENS) ||
		    !group_nr_blocked(state))
			return false;
	} while (!cas_relaxed(&g->state, &state, state + GROUP_BLOCKED));
	return true;
}

/*
 * [G-STATE] From here to group_post() or group_release() the claimer uses the
 * members' mutex; a member acquires the state, and may then free it.
 */
bool group_claim(struct group *g)
{
	uint64_t state;

	lock_take_second(&g->claim, false);
	state = load_relaxed(&g->state);
	do {
		if (!group_nr_blocked(state)) {
			lock_drop(&g->claim, false);
			return false;
		}
	} while (!cas_acq_rel(&g->state, &state, state | GROUP_CLAIMED));
	return true;
}

uint32_t group_post(struct group *g, uint64_t moved)
{
	uint64_t state = load_relaxed(&g->state);
	uint64_t to;

	do {
		to = state & ~GROUP_CLAIMED;
		to = (to - GROUP_BLOCKED + GROUP_TOKEN) | moved;
	} while (!cas_acq_rel(&g->state, &state, to));
	lock_drop(&g->claim, false);
	return (uint32_t)to;
}

uint32_t group_release(struct group *g, uint64_t moved)
{
	uint64_t state = load_relaxed(&g->state);
	uint64_t to;

	do {
		to = state & (GROUP_KICKS | GROUP_MOVED | GROUP_AWAKE);
		to |= GROUP_RELEASED | moved;
	} while (!cas_acq_rel(&g->state, &state, to));
	lock_drop(&g->claim, false);
	return (uint32_t)to;
}

void group_kick(struct group *g, uint32_t bits)
{
	uint64_t state = load_relaxed(&g->state);
	uint64_t to;

	do {
		to = (state + GROUP_KICK) & GROUP_KICKS;
		to |= state & ~GROUP_KICKS;
	} while (!cas_acq_rel(&g->state, &state, to)); /* [W-LOOK] */
	if (load_relaxed(&g->pi_target))
		cond_pi_wake(g, INT_MAX);
	else
		futex_wake_bits(group_word(g), INT_MAX, false, bits);
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

bool group_leave(struct group *g)
{
	uint64_t state = load_acquire(&g->state);

	for (;;) {
		if (group_take(g, &state))
			return false;
		if (state & GROUP_CLAIMED) {
			lock_take(&g->claim, false);
			lock_drop(&g->claim, false);
			state = load_acquire(&g->state);
		} else if (cas_acq_rel(&g->state, &state,
				       state - GROUP_BLOCKED)) {
			return true;
		}
	}
}
