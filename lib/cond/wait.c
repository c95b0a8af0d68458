// SPDX-License-Identifier: MIT
/* Waiting on a condition variable. */
#include <sched.h>

#include "cond/member.h"

/*
 * The group to join, pinned, or NULL if there is none yet: the open one. For
 * requeue-PI also the closed one, if no signal is on its way to a member: the
 * kernel chooses by priority among those in one group.
 */
static inline struct group *cond_pin_group(struct cond *c,
					   futex_word *pi_target)
{
	struct group *g = load_relaxed(&c->open);

	if (g && group_pin(g, c))
		return g;
	g = load_relaxed(&c->closed);
	if (!pi_target || !g || !group_pin(g, c))
		return NULL;
	if (!(load_relaxed(&g->state) & GROUP_TOKENS))
		return g;
	group_unpin(g);
	return NULL;
}

/*
 * Sleepers for requeue-PI must all want the same mutex. Once that is refused,
 * arrivals for it have no target, whichever group they find.
 */
static bool can_join(const struct group *g, const futex_word *pi_word,
		     const futex_word *pi_target)
{
	const futex_word *target = load_relaxed(&g->pi_target);

	return target == pi_target || (!pi_target && target == pi_word);
}

/* Is it the same thread that waits there, time after time? */
#define OTHERS_FORGOTTEN 16

static inline void cond_note_waiter(struct cond *c, struct waiter *w)
{
	uint8_t others = load_relaxed(&c->others);

	if (c->last && c->last != w)
		store_relaxed(&c->others, OTHERS_FORGOTTEN);
	else if (others)
		store_relaxed(&c->others, others - 1);
	c->last = w;
}

/*
 * Join the open group without the lock, if all that would be done with it held
 * is to join. Return: false if that is not so.
 *
 * [G-JOIN] Whoever started a group whose mutex is the caller's held that, before
 * the caller did: @open has named the group since. So a signaller that has to
 * see the caller, as it has held the mutex since then, finds the group there,
 * or knows of one who has found it.
 */
static inline bool cond_join_open(struct cond *c, struct member *m)
{
	struct group *g = load_relaxed(&c->open);
	struct waiter *w = m->w;

	if (!g || load_acquire(&c->life) != process_life || /* [CV-LIFE] */
	    load_relaxed(&c->others) != OTHERS_FORGOTTEN ||
	    (w->woken_by == c && !policy_knows(c, w->lesson, w->found_held)) ||
	    !group_pin(g, c))
		return false;
	if (!group_join_open(g, m->mutex)) {
		group_unpin(g);
		return false;
	}
	w->woken_by = NULL;
	m->g = g;
	return true;
}

/* Join a group, or start one. Return: 0, ENOMEM or EINVAL. */
static inline int cond_join(struct cond *c, struct member *m,
			    futex_word *pi_word)
{
	futex_word *pi_target = NULL;
	int err = 0;

	if (pi_word && policy_requeue_pi())
		pi_target = pi_word;

	cond_lock(c);
	if (m->w->woken_by == c)
		policy_learn(c, m->w->lesson, m->w->found_held);
	m->w->woken_by = NULL;
	cond_note_waiter(c, m->w);
	m->g = cond_pin_group(c, pi_target);
	if (!m->g) {
		if (!pi_target && !load_relaxed(&c->closed))
			m->watch_ns = policy_watch(m->w, c,
						   !load_relaxed(&c->others));
		store_relaxed(&m->w->gives_way, watch_gives_way(m->watch_ns));
		m->g = group_new(c, m->w, m->movable, pi_target,
				 m->watch_ns ? GROUP_AWAKE : 0);
		/*
		 * A closed group that timeouts have used up is still named in
		 * @closed, and may be the very one we were given: it must not
		 * be both, or arrivals would join those whom signals go to.
		 */
		if (m->g && load_relaxed(&c->closed) == m->g)
			store_relaxed(&c->closed, NULL);
		if (m->g && !m->watch_ns && !pi_target)
			policy_begins(c, m->g);
		/* Who inherits priorities is not to wait for others. */
		if (m->g && !pi_word)
			store_relaxed(&m->g->relays, policy_relays());
		if (m->g)
			store_relaxed(&c->open, m->g);
		else
			err = ENOMEM;
	} else if (can_join(m->g, pi_word, pi_target)) {
		group_join(m->g, m->movable);
	} else {
		group_unpin(m->g);
		err = EINVAL;
	}
	cond_unlock(c);
	return err;
}

/*
 * No memory to wait in. A spurious return is allowed and loses nothing: the
 * caller looks at its predicate again.
 */
COLD static int cond_wait_spuriously(const struct mutex_ops *ops, void *mutex)
{
	int err = ops->unlock(mutex);

	if (err)
		return err;
	sched_yield();
	return ops->lock(mutex, false);
}

/* Broken beyond may_wait(). What met us meanwhile goes on. */
COLD static void cond_leave_awake(struct cond *c, const struct mutex_ops *ops,
				  struct group *g)
{
	if (!group_leave(g))
		cond_signal(c, ops);
	if (group_has_relay(g))
		group_wake_next(g);
	group_unpin(g);
}

/* The mutex was free, and is the caller's. Return: true. */
static inline bool member_got(const struct member *m, const struct cond *c,
			      enum lesson lesson, bool moved)
{
	if (moved)
		m->ops->set_contended(m->mutex);
	member_found(m, c, lesson, false);
	return true;
}

/*
 * @c: an address only; @out: by a signal or broadcast; @plain: the mutex is.
 */
static inline int member_relock(struct member *m, const struct cond *c,
				const struct mutex_ops *ops, void *mutex,
				bool out, bool plain)
{
	bool moved = load_relaxed(&m->g->state) & GROUP_MOVED;
	uint8_t lesson = out ? load_relaxed(&m->g->lesson) : LESSON_NONE;
	bool got = false;

	if (m->caught || m->called)
		got = member_hurry(m, c, moved);
	else if (plain && !(moved && load_relaxed(&m->g->ahead)) &&
		 ops->try_lock(mutex))
		got = member_got(m, c, lesson, moved);
	else
		got = member_hope(m, c, lesson, moved);
	group_unpin(m->g);
	/* From here on the condvar may no longer exist. */
	return got ? 0 : ops->lock(mutex, moved);
}

/*
 * @pi_word: where the kernel may hand the mutex over, or NULL. Others have to
 * find a thread that can be cancelled, and one that waits for that.
 * @plain: the mutex is.
 */
static inline int cond_wait_as(struct cond *c, struct member *m,
			       const struct deadline *deadline,
			       futex_word *pi_word, bool plain)
{
	const struct mutex_ops *ops = m->ops;
	bool be_found = ops->interruptible || pi_word;
	futex_word *pi_target = NULL;
	void *mutex = m->mutex;
	struct waiter *w = m->w;
	int err = 0, lock_err;

	store_relaxed(&w->call, CALL_NONE);
	if (!plain || !cond_join_open(c, m))
		err = cond_join(c, m, pi_word);
	if (unlikely(err == ENOMEM))
		return cond_wait_spuriously(ops, mutex);
	if (unlikely(err))
		return err;

	err = plain ? ops->unlock_plain(mutex) : ops->unlock(mutex);
	if (unlikely(err)) {
		cond_leave_awake(c, ops, m->g);
		return err;
	}

	if (thread_this.herd) {
		herd_wake_ahead(thread_this.herd, ops, mutex);
		thread_this.herd = NULL;
	}
	if (thread_this.released)
		heir_call(w);
	if (pi_word)
		pi_target = load_relaxed(&m->g->pi_target);
	if (be_found)
		store_seq_cst(&w->group, m->g); /* [W-KICK] */
	if (m->watch_ns)
		member_watch(m, c, deadline);
	else if (load_relaxed(&m->g->stays))
		member_stay(m, deadline);
	err = member_sleep(m, deadline, pi_target);
	if (group_has_relay(m->g))
		member_relay(m);
	if (be_found)
		store_relaxed(&w->group, NULL);

	if (unlikely(m->owns)) {
		group_unpin(m->g);
		lock_err = m->lock_err;
	} else {
		lock_err = member_relock(m, c, ops, mutex, !err, plain);
	}
	return lock_err ? lock_err : err;
}

/* Whatever the condvar and the mutex are. */
APART static int cond_wait_special(struct cond *c, struct waiter *w,
				   const struct mutex_ops *ops, void *mutex,
				   const struct deadline *deadline)
{
	struct member m = { .w = w, .ops = ops, .mutex = mutex };
	futex_word *pi_word = NULL;
	int err = ops->may_wait(mutex);

	if (err)
		return err;
	if (c->flags & COND_SHARED)
		return cond_shared_wait(c, ops, mutex, deadline);
	/* A mutex that stays held is nobody's to be moved to. */
	if (!ops->stays_held(mutex)) {
		m.movable = mutex;
		pi_word = ops->pi_word(mutex);
	}
	return cond_wait_as(c, &m, deadline, pi_word, false);
}

int cond_wait(struct cond *c, struct waiter *w, const struct mutex_ops *ops,
	      void *mutex, const struct deadline *deadline)
{
	struct member m = {
		.w = w, .ops = ops, .mutex = mutex, .movable = mutex
	};

	if (unlikely(c->flags & COND_SHARED || !ops->is_plain(mutex)))
		return cond_wait_special(c, w, ops, mutex, deadline);
	return cond_wait_as(c, &m, deadline, NULL, true);
}
