// SPDX-License-Identifier: MIT
/* The beginning and the end of a condition variable, and its life after fork. */
#include <stdio.h>
#include <string.h>

#include "cond/cond.h"

void cond_init(struct cond *c, clockid_t clock, bool shared)
{
	memset(c, 0, sizeof(*c));
	store_relaxed(&c->flags,
		      (clock == CLOCK_MONOTONIC ? COND_MONOTONIC : 0) |
			      (shared ? COND_SHARED : 0));
	if (shared) {
		/*
		 * Unlike what was here before, and what will be: a late user
		 * then changes the word at most, and does not sleep.
		 */
		uint64_t seed =
			(uint64_t)clock_now() * UINT64_C(0x9e3779b97f4a7c15);

		store_relaxed(&c->shared.state, seed & SHARED_NUMBERS);
		store_relaxed(&c->shared.word, (uint32_t)seed);
		store_relaxed(&c->shared.users, seed & USERS_LIVES);
	}
}

/* As glibc's destroy does: the last of them wakes who set COND_DESTROYED. */
COLD static void await_foreign(struct cond *c)
{
	uint32_t flags = or_relaxed(&c->flags, COND_DESTROYED);

	flags |= COND_DESTROYED;
	while (flags >= COND_FOREIGN) {
		futex_wait(&c->flags, flags, NULL, false);
		flags = load_acquire(&c->flags);
	}
}

void cond_destroy(struct cond *c, futex_word *target, const char *call)
{
	if (cond_is_shared(c)) {
		cond_shared_destroy(c, target);
	} else {
		/* After a fork, foreign waiters stayed in the parent, too. */
		if (unlikely(load_relaxed(&c->flags) & COND_SPECIAL) &&
		    load_acquire(&c->generation))
			cond_drop_stale(c);
		if (unlikely(load_relaxed(&c->flags) & COND_SPECIAL))
			await_foreign(c);
		/*
		 * Released waiters have no business here any more, but the
		 * signaller that released them may still be dropping the lock.
		 */
		cond_lock(c);
		if (DEBUG_BUILD && (group_claim(cond_closed(c), c) ||
				    group_claim(load_relaxed(&c->open), c)))
			debug_wrong(c, "condition variable",
				    "has threads waiting: wake them first",
				    call);
		lock_drop(&c->lock);
		lock_settle(&c->lock);
	}
	if (DEBUG_BUILD)
		store_relaxed(&c->flags, DEBUG_DESTROYED);
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
		cond_set_groups(c, NULL, NULL);
		memset(&c->lock, 0, sizeof(c->lock));
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

/*
 * Which foreign waiter a signal should wake is not known, so it wakes all: a
 * spurious return for the others. Whose deadline was earlier leaves its signal to
 * the next one: that is one, too.
 */
static void give_signals(futex_word *signals, uint32_t nr)
{
	add_release(signals, 2 * nr);
	futex_wake(signals, INT_MAX, false);
}

bool cond_wake_special(struct cond *c, bool all)
{
	uint32_t nr = load_relaxed(&c->flags) / COND_FOREIGN;
	static atomic_bool said;
	bool ours;

	if (cond_is_shared(c)) {
		cond_shared_wake(c, all, NULL);
		return true;
	}
	if (!swap_relaxed(&said, true))
		fputs("drover: a thread waits in the C library's own pthread_cond_*wait(), which this library's signals wake spuriously; load what it is in without RTLD_DEEPBIND\n",
		      stderr);
	/* It stays glibc's, or ours, as long as we have this lock. */
	lock_take(&fork_lock);
	ours = load_relaxed(&c->generation);
	give_signals(&c->foreign_signals, nr);
	/* As long as it is all glibc's, its other group may be in use, too. */
	if (!ours)
		give_signals(&c->closed_high, nr);
	lock_drop(&fork_lock);
	return !ours;
}
