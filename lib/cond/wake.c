// SPDX-License-Identifier: MIT
/*
 * The doors to signal and broadcast; which members of a group are woken, and
 * which are moved to the mutex.
 *
 * A lost wake-up is the worst that can go wrong here. broadcast-path.rst lists
 * the tests that fail, or do not end, if one is lost.
 */
#include "cond/group.h"
#include "cond/policy.h"

/*
 * How many threads one call moves, if the caller holds the mutex. During the
 * call the kernel holds the locks of two hash buckets, and does not preempt. A
 * call costs less than a twentieth of what it takes to move so many.
 */
#define SLICE 64

/*
 * With several CPUs each moved thread costs the time until an idle CPU runs it.
 * So the first of them wakes a few more: about as many hand-offs between
 * running threads fit into one wake-up.
 */
#define WAKE_AHEAD 15

/* A kernel without requeue, or a sandbox: never cleared. */
static atomic_bool requeue_refused;

#ifdef DROVER_REQUEUE_MARK
/*
 * Move sleepers of a group's word to the word of a mutex, or to that of another
 * group. @nr_wake is 1 if the caller does not hold the mutex: wake the first. A
 * kernel that marks moves this one, too, if it finds the mutex held, and marks it
 * contended: the holder has the duty "holder" then, and nobody is "woken".
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
 * @target: the futex word to move them to; NULL: all are woken
 * @nr_wake: how many to wake before the rest is moved, 0 or 1
 */
struct wake_plan {
	futex_word *target;
	int nr_wake;
};

/* What to do with @nr_waiters of a locked group, whose mutex thus exists. */
static struct wake_plan plan_for(struct group *g, uint32_t nr_waiters)
{
	void *mutex = load_relaxed(&g->mutex);
	struct wake_plan plan = { .target = NULL };
	enum mutex_holder holder;
	futex_word *word;

	/*
	 * One thread is to be unblocked and no member sleeps: there is nobody
	 * to move. If a member falls asleep meanwhile, unblock() wakes it.
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
	/* "mover" becomes "holder" (cond.h): its unlock wakes the first. */
	if (plan.nr_wake == 0)
		lock_set_contended(word);
	if (nr_waiters > 1 && load_relaxed(&policy_moves) & POLICY_AHEAD)
		store_relaxed(&g->ahead, WAKE_AHEAD);
	return plan;
}

/*
 * Release all members of a locked group that its condvar no longer names (@nr
 * is INT_MAX), or post to one of them (1). @held: NULL, or the condvar's lock,
 * which is dropped before anybody is woken.
 *
 * Members are interchangeable, so it does not matter which of them is woken or
 * moved. Another member may take the token before the wake-up: the thread that
 * is woken and finds no token has the duty "unneeded" (cond.h).
 *
 * After the release only the address of the mutex is used, by the kernel. A
 * sleeper that is left will lock the mutex, so the mutex exists. If no sleeper
 * is left, the kernel moves nothing.
 */
static void unblock(struct group *g, struct wake_plan plan, int nr,
		    struct lock *held)
{
	uint32_t word = group_unblock(g, nr, plan.target ? GROUP_MOVED : 0);
	futex_word *slept_on = LOW_HALF(&g->state);
	long ret = -EAGAIN;

	if (held)
		lock_drop(held);
	/* After a release, all who still sleep on the word are free to go. */
	if (!(word & GROUP_NO_SLEEPERS) &&
	    unlikely(load_relaxed(&g->pi_target))) {
		cond_pi_wake(g, nr);
	} else if (!(word & GROUP_NO_SLEEPERS)) {
		/*
		 * If nothing is to be moved, or if the word has changed since
		 * the release (-EAGAIN), sleepers are woken instead. Only a
		 * thread with the duty "holder" or "behind" makes several
		 * calls, so no thread that was moved wakes before the last.
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
 * The condvar is shared, or has foreign waiters. @all: a broadcast. Return:
 * false if there may also be members of its groups.
 */
APART static bool wake_special(struct cond *c, bool all, futex_word *target)
{
	if (!(load_relaxed(&c->flags) & COND_SHARED))
		return !foreign_wake(c);
	shared_cond_wake(&c->shared, all, target);
	return true;
}

HOT int signal_slow(struct cond *c)
{
	struct group *g;
	bool last;

	PROBE(signal, c, 0);
	if (unlikely(load_relaxed(&c->flags) & COND_SPECIAL) &&
	    wake_special(c, false, NULL))
		return 0;
	cond_lock(c);
	g = group_lock_blocked(cond_closed(c), c);
	if (!g) {
		/* No member of it is blocked: the signal closes the open one. */
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
			last ? NULL : &c->lock);
	return 0;
}

/*
 * Two groups at once. If each would have one thread woken, which then wakes the
 * next, one thread is enough for both: the younger group's sleepers are first
 * moved to the word of the older group, behind its sleepers. The caller has the
 * duty "behind" until it has released the older group.
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

HOT APART static int broadcast_slow(struct cond *c, futex_word *target)
{
	struct group *closed = NULL, *open;

	PROBE(broadcast, c, 0);
	if (unlikely(load_relaxed(&c->flags) & COND_SPECIAL) &&
	    wake_special(c, true, target))
		return 0;
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
 * The doors. A private condvar is asked without its lock whether anybody waits,
 * and with no ordering pair (memory-ordering.rst). One load covers both groups:
 * two loads could each miss one, although one was there all the time. All other
 * cases go on in one function, so a door is half a dozen instructions.
 */
inline int cond_signal(struct cond *c)
{
	if (likely(!(load_relaxed(&c->flags) & COND_SPECIAL)) &&
	    likely(!load_relaxed(&c->closed_low)))
		return 0;
	return signal_slow(c);
}

inline int cond_broadcast(struct cond *c, futex_word *target)
{
	if (likely(!(load_relaxed(&c->flags) & COND_SPECIAL)) &&
	    likely(!load_relaxed(&c->closed_low)))
		return 0;
	return broadcast_slow(c, target);
}
