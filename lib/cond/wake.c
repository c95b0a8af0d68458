// SPDX-License-Identifier: MIT
/*
 * The entry points of signal and broadcast. This file decides which members of
 * a group are woken, and which are moved to the mutex.
 *
 * A lost wake-up is the worst fault that this file can have. broadcast-path.rst
 * lists the tests that fail, or do not end, if one is lost.
 */
#include "cond/group.h"
#include "cond/policy.h"

/*
 * The most threads that one call moves if the caller holds the mutex. During
 * the call the kernel holds the locks of two hash buckets and cannot preempt
 * the caller, so a call has to be short. The call itself costs less than a
 * twentieth of the move of this many threads, so more calls cost little.
 */
#define SLICE 64

/*
 * With several CPUs, the wake-up of each moved thread takes until an idle CPU
 * runs the thread. So the first moved thread wakes this many more in advance.
 * About as many hand-offs of the mutex between running threads fit into the
 * time of one wake-up.
 */
#define WAKE_AHEAD 15

/* The kernel or a sandbox has refused to requeue. Never cleared. */
static atomic_bool requeue_refused;

#ifdef DROVER_REQUEUE_MARK
/*
 * Move sleepers of a group's word to the word of a mutex, or to that of another
 * group. @nr_wake is 1 if the caller does not hold the mutex: the first sleeper
 * is woken. If a kernel that can mark finds the mutex held, it moves the first
 * sleeper, too, and marks the mutex contended. The holder of the mutex then has
 * the duty "holder", and no thread has the duty "woken".
 */
static long requeue(futex_word *word, uint32_t val, int nr_wake, int most,
		    futex_word *target)
{
	static atomic_bool mark_refused; /* never cleared */
	long ret;

	if (nr_wake && !load_relaxed(&mark_refused)) {
		ret = futex_requeue_mark(word, val, most, target,
					 LOCK_CONTENDED);
		if (ret != -EINVAL && ret != -ENOSYS && ret != -EPERM)
			return ret;
		store_relaxed(&mark_refused, true);
	}
	return futex_cmp_requeue(word, val, nr_wake, most, target, false);
}
#else
#define requeue(word, val, nr_wake, most, target) \
	futex_cmp_requeue(word, val, nr_wake, most, target, false)
#endif

/**
 * struct wake_plan - what a release or a post does with the sleepers
 * @target: the futex word to which they are moved; NULL: all are woken
 * @nr_wake: how many are woken before the rest is moved, 0 or 1
 */
struct wake_plan {
	futex_word *target;
	int nr_wake;
};

/*
 * Choose what to do with @nr_waiters of a locked group. The group's lock keeps
 * the members in it, so their mutex exists.
 */
static struct wake_plan plan_for(struct group *g, uint32_t nr_waiters)
{
	void *mutex = load_relaxed(&g->mutex);
	struct wake_plan plan = { .target = NULL };
	enum mutex_holder holder;
	futex_word *word;

	/*
	 * One thread is to be unblocked and no member sleeps: there is no
	 * thread to move. If a member falls asleep meanwhile, unblock() wakes
	 * it.
	 */
	if ((nr_waiters == 1 && load_relaxed(&g->state) & GROUP_NO_SLEEPERS) ||
	    unlikely(load_relaxed(&g->pi_target)) || !mutex ||
	    load_relaxed(&requeue_refused))
		return plan;
	holder = user_mutex_holder(mutex, &word);
	if (!word || !policy_moves_to(holder, nr_waiters))
		return plan;
	plan.target = word;
	plan.nr_wake = holder != MUTEX_HELD_BY_CALLER;
	/* "mover" becomes "holder" (cond.h): its unlock wakes a thread. */
	if (plan.nr_wake == 0)
		lock_set_contended(word);
	if (nr_waiters > 1 && policy_is(POLICY_AUTO))
		store_relaxed(&g->ahead, WAKE_AHEAD);
	return plan;
}

/*
 * If @nr is INT_MAX, release all members of a locked group that its condvar no
 * longer names. If @nr is 1, post one token to a locked group. @held: NULL, or
 * a lock that is dropped before any thread is woken: the condvar's, or that of
 * signal_private().
 *
 * Members are interchangeable, so it does not matter which of them is woken or
 * moved. Another member may take the token before the wake-up: the thread that
 * is woken and finds no token has the duty "unneeded" (cond.h).
 *
 * After the release only the kernel uses the mutex, and only its address. If a
 * sleeper is left, that sleeper has yet to lock the mutex, so the mutex exists.
 * If no sleeper is left, the kernel moves nothing.
 */
static void unblock(struct group *g, struct wake_plan plan, int nr,
		    struct lock *held)
{
	uint32_t word = group_unblock(g, nr, plan.target ? GROUP_MOVED : 0);
	futex_word *slept_on = LOW_HALF(&g->state);
	long ret = -EAGAIN;

	if (held)
		lock_drop(held);
	/* After a release, all threads still asleep on the word may go. */
	if (!(word & GROUP_NO_SLEEPERS) &&
	    unlikely(load_relaxed(&g->pi_target))) {
		cond_pi_wake(g, nr);
	} else if (!(word & GROUP_NO_SLEEPERS)) {
		/*
		 * If nothing is to be moved, or if the word has changed since
		 * the release (-EAGAIN), sleepers are woken instead. Only a
		 * thread with the duty "holder" or "behind" makes several
		 * calls, so no moved thread wakes before the last call.
		 */
		int most = plan.nr_wake == 0 && nr > SLICE ? SLICE : nr;

		while (plan.target) {
			ret = requeue(slept_on, word, plan.nr_wake, most,
				      plan.target);
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

/*
 * The condvar is shared, or has foreign waiters. @all: a broadcast; @target: as
 * for cond_broadcast(). Return: false if threads may wait in its groups as well.
 */
APART static bool wake_special(struct cond *c, bool all, futex_word *target)
{
	if (!(load_relaxed(&c->flags) & COND_SHARED))
		return !foreign_wake(c);
	shared_cond_wake(&c->shared, all, target);
	return true;
}

HOT int signal_private(struct cond *c, struct lock *held)
{
	struct group *g;
	bool last;

	PROBE(signal, c, 0);
	cond_lock(c);
	g = group_lock_blocked(cond_closed(c), c);
	if (!g) {
		/*
		 * No member of the closed group is blocked: close the open one.
		 */
		g = group_lock_blocked(load_relaxed(&c->open), c);
		cond_set_groups(c, g, NULL);
	}
	last = !g || group_blocked(g) == 1;
	if (last) {
		cond_set_groups(c, NULL, load_relaxed(&c->open));
		lock_drop(&c->lock);
	}
	if (g)
		unblock(g, plan_for(g, 1), last ? INT_MAX : 1,
			last ? held : &c->lock);
	else if (held)
		lock_drop(held);
	return 0;
}

/*
 * Release two groups at once. If the plan for each group is to wake one thread,
 * which later wakes the next one, then one such thread is enough for both
 * groups: the younger group's sleepers are first moved to the word of the older
 * group, behind the sleepers of that group. The caller has the duty "behind"
 * until it has released the older group.
 */
APART static void release_both(struct group *closed, struct group *open)
{
	uint32_t nr = group_blocked(closed) + group_blocked(open);
	struct wake_plan plan = plan_for(closed, nr);
	struct wake_plan behind = plan_for(open, nr);

	if (load_relaxed(&closed->mutex) == load_relaxed(&open->mutex) &&
	    plan.target && plan.nr_wake == 1 && behind.target) {
		behind.nr_wake = 0;
		behind.target = LOW_HALF(&closed->state);
		/* Now threads of the younger group may sleep on that word. */
		and_relaxed(&closed->state, ~GROUP_NO_SLEEPERS);
		unblock(open, behind, INT_MAX, NULL);
		unblock(closed, plan, INT_MAX, NULL);
	} else {
		unblock(closed, plan, INT_MAX, NULL);
		unblock(open, behind, INT_MAX, NULL);
	}
}

HOT APART static int broadcast_private(struct cond *c)
{
	struct group *closed = NULL, *open;

	PROBE(broadcast, c, 0);
	cond_lock(c);
	if (load_relaxed(&c->closed_low) & CLOSED_IS_THERE)
		closed = group_lock_blocked(cond_closed(c), c);
	open = group_lock_blocked(load_relaxed(&c->open), c);
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

/*
 * The entry points. They take no lock to look whether any thread waits on a
 * private condvar, and need no ordering pair (memory-ordering.rst). One load
 * covers both groups. Two loads could each miss a group, although at each
 * moment one of the groups was there. All other cases go on in functions of
 * their own, so an entry point has half a dozen instructions.
 */
inline int cond_signal(struct cond *c)
{
	if (unlikely(load_relaxed(&c->flags) & COND_SPECIAL) &&
	    wake_special(c, false, NULL))
		return 0;
	if (likely(!load_relaxed(&c->closed_low)))
		return 0;
	return signal_private(c, NULL);
}

inline int cond_broadcast(struct cond *c, futex_word *target)
{
	if (unlikely(load_relaxed(&c->flags) & COND_SPECIAL) &&
	    wake_special(c, true, target))
		return 0;
	if (likely(!load_relaxed(&c->closed_low)))
		return 0;
	return broadcast_private(c);
}
