// SPDX-License-Identifier: MIT
/* The entry point of a wait, and the wait in a group. */
#include "cond/group.h"

/**
 * struct member - a thread that waits in a group
 * @g: its group, which it has pinned; NULL before and after
 * @w: the part of the thread that other threads see
 * @mutex: the mutex that it released and will lock again
 * @movable: the same mutex, or NULL if no thread may be moved there
 * @word: where the sleepers of @mutex wait; set by user_mutex_holder()
 * @owns: the thread has the mutex already, by requeue-PI
 * @lock_err: the result of that lock: 0, or an error of the mutex
 * @cancels: the cancels of @g when it began to poll
 * @waits: the thread has joined, and has not got the mutex back
 */
struct member {
	struct group *g;
	struct waiter *w;
	void *mutex;
	void *movable;
	futex_word *word;
	bool owns;
	int lock_err;
	uint32_t cancels;
	bool waits;
};

/*
 * A thread that waits for requeue-PI joins the closed group, too, if all
 * earlier signals have been taken: the kernel chooses by priority only among
 * the members of one group.
 */
COLD static struct group *cond_pin_closed(struct cond *c)
{
	struct group *g = cond_closed(c);

	if (!group_pin(g, c))
		return NULL;
	if (group_blocked(g) && !(load_relaxed(&g->state) & GROUP_TOKENS))
		return g;
	group_unpin(g);
	return NULL;
}

/*
 * Join the open group, or start one. @pi_word: the word of the mutex, if the
 * kernel can hand the mutex over; otherwise NULL. Return: 0, ENOMEM or EINVAL.
 */
static inline int cond_join(struct cond *c, struct member *m,
			    futex_word *pi_word)
{
	bool refused = pi_word && load_relaxed(&pi_refused);
	futex_word *pi_target = refused ? NULL : pi_word;
	struct group *g;
	int err = 0;

	if (unlikely(pi_word))
		lock_use_pi();
	if (unlikely(!m->w->spare))
		m->w->spare = arena_get(ARENA_GROUPS);
	cond_lock(c);
	g = load_relaxed(&c->open);
	if (!group_pin(g, c))
		g = unlikely(pi_target) ? cond_pin_closed(c) : NULL;
	if (!g) {
		g = group_start(c, m->w, m->movable, pi_target);
		err = unlikely(!g) ? ENOMEM : 0;
	} else if (unlikely(load_relaxed(&g->pi_target) != pi_target) &&
		   (pi_target || load_relaxed(&g->pi_target) != pi_word)) {
		/*
		 * All members that sleep for requeue-PI must want the same
		 * mutex. After requeue-PI is refused, a member that arrives has
		 * no target. It may still join a group of the same mutex.
		 */
		group_unpin(g);
		err = EINVAL;
	} else {
		if (load_relaxed(&g->mutex) != m->movable)
			store_relaxed(&g->mutex, NULL);
		add_relaxed(&g->state, GROUP_BLOCKED);
	}
	m->g = g;
	m->waits = !err;
	lock_drop(&c->lock);
	return err;
}

/*
 * Has the event happened for which the member polls? Any of several members may
 * take a token. With one CPU the other members should sleep until there is more
 * to do, so a token does not end the poll there.
 */
static bool poll_signal(void *arg)
{
	const struct member *m = arg;
	uint32_t word = load_relaxed(LOW_HALF(&m->g->state));

	return word & GROUP_RELEASED ||
	       (word & GROUP_TOKENS && poll_has_cpu()) ||
	       (word & GROUP_CANCELS) != m->cancels;
}

/*
 * The caller was woken, and finds neither release nor token: another member has
 * taken the token, or group_cancel() has woken the caller.
 *
 * If members may have been moved, the caller may have slept on the mutex, and
 * may have got the only wake-up of an unlock. It then has the duty "unneeded"
 * (cond.h): no other thread will wake the next one on the mutex.
 */
COLD static void member_woken_for_nothing(struct member *m, uint64_t state)
{
	if (m->lock_err)
		return; /* member_sleep() is about to return it */
	if (m->owns) {
		m->owns = false;
		user_mutex_unlock(m->mutex);
	} else if (state & GROUP_MOVED) {
		user_mutex_holder(m->mutex, &m->word);
		futex_wake(m->word, 1, false);
	}
}

/*
 * Wait as a member until unblocked. Return: 0 if unblocked. Otherwise
 * ETIMEDOUT, ECANCELED, or the error of the mutex; the caller is then no longer
 * a member. The caller keeps its pin in any case.
 *
 * The kernel compares the word before it lets a thread sleep:
 *
 *	CPU 0: member				CPU 1: signaller
 *
 *	load word: nothing for it
 *	FUTEX_WAIT:				change word: post or release
 *	 lock the hash bucket			FUTEX_WAKE or FUTEX_CMP_REQUEUE:
 *	 load word, compare			 lock the hash bucket
 *	 enqueue, unlock			 wake or move who is enqueued
 *
 * If CPU 0 has the bucket first, CPU 1 finds the member enqueued. If CPU 1 has
 * the bucket first, CPU 0 finds the new word and does not sleep. So no wake-up
 * is lost.
 */
static inline int member_sleep(struct member *m,
			       const struct deadline *deadline)
{
	struct group *g = m->g;
	long ret = -EAGAIN;
	int why;

	for (;;) {
		/* [G-STATE] group_unblock(), [W-WORD] group_cancel() */
		uint64_t state = load_acquire(&g->state);

		if (group_take(g, &state))
			return 0;
		if (ret == 0)
			member_woken_for_nothing(m, state);
		why = m->lock_err;
		if (ret == -ETIMEDOUT)
			why = ETIMEDOUT;
		else if (load_seq_cst(&m->w->cancellations) !=
				 m->w->cancellations_seen &&
			 cancellation_is_due()) /* [W-CANCEL] */
			why = ECANCELED;
		if (why)
			return group_leave(g, false) ? why : 0;
		/*
		 * While the bit is set no signaller makes a wake-up call. So
		 * the member clears it, looks at the state again, and only then
		 * sleeps.
		 */
		if (state & GROUP_NO_SLEEPERS)
			and_relaxed(&g->state, ~GROUP_NO_SLEEPERS);
		else if (unlikely(load_relaxed(&g->pi_target))) {
			ret = cond_pi_wait(g, (uint32_t)state, deadline);
			m->owns = ret == 0;
			if (m->owns)
				m->lock_err = user_mutex_adopt(m->mutex);
		} else
			ret = sleep_on(LOW_HALF(&g->state), (uint32_t)state,
				       deadline, false, m->w->bit,
				       &thread_this.for_signals);
	}
}

/*
 * Drop the pin, and take the mutex. If members were moved, the caller has the
 * duty "woken" (cond.h). The first such caller that finds the mutex free wakes
 * more threads on it: WAKE_AHEAD, wake.c. Return: 0, or the error of the mutex.
 */
static inline int member_relock(struct member *m)
{
	struct group *g = m->g;
	bool moved = load_relaxed(&g->state) & GROUP_MOVED;
	uint32_t ahead = 0;

	m->g = NULL;
	store_relaxed(&m->w->group, NULL);
	if (unlikely(load_relaxed(&g->pi_target)))
		cond_pi_leave(m->w);
	if (m->movable && user_mutex_holder(m->mutex, &m->word) == MUTEX_FREE &&
	    moved && load_relaxed(&g->ahead) && poll_has_cpu())
		ahead = swap_relaxed(&g->ahead, 0);
	if (ahead)
		wake_sleepers(m->word, (int)ahead, false);
	group_unpin(g);
	/* From here on the condvar may no longer exist. */
	if (unlikely(m->owns))
		return m->lock_err;
	/*
	 * A mutex to which no thread can be moved is not polled: the caller may
	 * still hold a recursive mutex, which then never becomes free.
	 */
	if (!m->word ||
	    !poll_before_sleep(&thread_this.for_mutexes, user_mutex_poll,
			       m->mutex, INT64_MAX))
		return user_mutex_lock(m->mutex, moved);
	if (moved)
		lock_set_contended(m->word);
	return 0;
}

/*
 * This runs at every return from cond_wait(), and does something only if the
 * thread ends in the middle of its wait: a signal handler has called
 * pthread_exit(). The thread's clean-up handlers find the mutex locked, as
 * after a cancellation. The thread consumes no signal that another member can
 * use.
 *
 * The thread may end as it releases the mutex, or as it takes the mutex again:
 * so user_mutex_regain() asks the mutex whether the thread has it. A thread
 * that has locked a recursive mutex more than once holds it throughout the
 * wait, and locks it once more here.
 */
static void member_ended(struct member *m)
{
	if (likely(!m->waits))
		return;
	if (m->g) {
		/*
		 * member_relock() then leaves a movable mutex alone:
		 * user_mutex_regain() locks it, unless the thread has it.
		 */
		m->owns = m->movable;
		group_leave(m->g, true);
		member_relock(m);
	}
	user_mutex_regain(m->mutex);
}

/* The longest sleep of a thread that has no memory to wait in. */
#define NAP_NS (10 * 1000 * NS_PER_US)

/*
 * The thread cannot join a group: there is no memory, or only foreign threads
 * have waited on the condvar. A spurious return is allowed and loses nothing:
 * the caller looks at its predicate again.
 */
COLD static int wait_spuriously(void *mutex, const struct deadline *deadline)
{
	int64_t left = time_left(deadline);
	int64_t until = clock_now() + (left < NAP_NS ? left : NAP_NS);
	struct deadline nap = { CLOCK_MONOTONIC,
				{ until / NS_PER_S, until % NS_PER_S } };
	futex_word never = 0;
	int err = user_mutex_unlock(mutex);

	if (err)
		return err;
	futex_wait(&never, 0, &nap, false);
	err = user_mutex_lock(mutex, false);
	return err ? err : time_left(deadline) > 0 ? 0 : ETIMEDOUT;
}

/*
 * Something is special about a wait: the mutex is not a plain one, there is no
 * memory for the thread's waiter, several processes use the condvar, or it has
 * foreign waiters. Return: true if the wait is over, with its result in @err;
 * false if the wait goes on in a group.
 */
APART static bool wait_special(struct cond *c, struct member *m,
			       const struct deadline *deadline,
			       futex_word **pi_word, int *err)
{
	uint32_t flags = load_relaxed(&c->flags);

	*err = user_mutex_prepare(m->mutex, &m->movable, pi_word);
	if (*err)
		return true;
	*err = ENOMEM;
	if (m->w && flags & COND_SHARED)
		*err = shared_cond_wait(&c->shared, m->mutex, deadline);
	else if (m->w && !(flags & COND_SPECIAL && foreign_alone(c)))
		return false;
	if (*err == ENOMEM)
		*err = wait_spuriously(m->mutex, deadline);
	return true;
}

int cond_wait(struct cond *c, void *mutex, const struct deadline *deadline)
{
	struct member m __attribute__((cleanup(member_ended))) = {
		.w = waiter_self(), .mutex = mutex, .movable = mutex
	};
	futex_word *pi_word = NULL;
	int err, lock_err;

	PROBE(wait, c, mutex);
	if ((unlikely(!m.w || load_relaxed(&c->flags) & COND_SPECIAL) ||
	     unlikely(!user_mutex_is_plain(mutex))) &&
	    wait_special(c, &m, deadline, &pi_word, &err))
		return err;
	err = cond_join(c, &m, pi_word);
	if (unlikely(err))
		return err == ENOMEM ? wait_spuriously(mutex, deadline) : err;
	err = user_mutex_unlock(mutex);
	if (unlikely(err)) {
		/*
		 * The mutex is broken. If a signal has unblocked this member
		 * meanwhile, the thread passes the signal on to another member.
		 */
		if (!group_leave(m.g, false))
			cond_signal(c);
		m.waits = false;
		group_unpin(m.g);
		return err;
	}

	store_seq_cst(&m.w->group, m.g); /* [W-CANCEL] [W-PI] */
	m.cancels = load_relaxed(&m.g->state) & GROUP_CANCELS;
	/* Poll for about as long as a wake-up takes, if polls pay: poll.h */
	if (likely(!load_relaxed(&m.g->pi_target)))
		poll_before_sleep(&thread_this.for_signals, poll_signal, &m,
				  deadline ? time_left(deadline) : INT64_MAX);
	err = member_sleep(&m, deadline);
	lock_err = member_relock(&m);
	m.waits = false;
	/*
	 * An error of the mutex comes first: the caller may have to repair what
	 * the mutex protects (EOWNERDEAD), or may not have the mutex at all.
	 */
	return lock_err ? lock_err : err;
}
