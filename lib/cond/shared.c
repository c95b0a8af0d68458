// SPDX-License-Identifier: MIT
/*
 * Condition variables of several processes; shared.h has the states.
 *
 * Waiters are woken, not moved: a broadcaster cannot know at which address it
 * sees their mutex, unless it is told (cond_shared_wake()).
 *
 * Processes may be killed at any point:
 *  - A waiter stays blocked until its group is released, so it can absorb one
 *    signal, and never a broadcast.
 *  - A signaller counts as a waker from before it releases until after it has
 *    woken. Where another one counts, dead or alive, everybody is woken: so
 *    the next signal or broadcast makes up for what was left undone.
 *  - A broadcast is one step; whoever comes next finishes the renumbering.
 *
 * Two signallers that wake at the same time may wake a member of the wrong
 * group, who sleeps again. So each looks after its wake-up whether another one
 * counts, and wakes everybody if so. The one that counts out last may find
 * nobody: then the other has done so, after both have released, or had done with
 * its wake-ups before this one came.
 */
#include "cond/cond.h"
#include "cond/policy.h"

/* How long destroy waits for users of other processes before they are dead. */
#define DEAD_AFTER_SECONDS 2

/**
 * struct view - both slots, as they were
 * @state: their states
 * @old: the one with the older group
 */
struct view {
	uint64_t state[2];
	int old;
};

static bool has_blocked(uint64_t state)
{
	return state & SLOT_MEMBERS;
}

/* Numbers only grow, so those of one view were there at the same time. */
static struct view view_of(struct shared_cond *s)
{
	struct view v;

	do {
		v.state[0] = load_acquire(&s->slot[0]);
		v.state[1] = load_acquire(&s->slot[1]);
	} while (load_acquire(&s->slot[0]) != v.state[0]);
	v.old = !!((v.state[0] ^ v.state[1]) & SLOT_NUMBER);
	return v;
}

/* [S-WORD] A member loads the word, then the state; here it is the reverse. */
static void word_change(struct shared_cond *s, int i)
{
	add_release(&s->word[i], 1);
}

/* Release all members of the older group, whose state was @seen. */
static bool renumber(struct shared_cond *s, int i, uint64_t seen)
{
	uint64_t to = (seen & SLOT_NUMBERS) + SLOT_NUMBER;
	bool done = cas_acq_rel(&s->slot[i], &seen, to);

	word_change(s, i);
	return done;
}

/* A view without a broadcast that is half done. */
static struct view settled_view(struct shared_cond *s)
{
	struct view v = view_of(s);

	while ((v.state[0] | v.state[1]) & SLOT_RELEASING) {
		renumber(s, v.old, v.state[v.old]);
		v = view_of(s);
	}
	return v;
}

/* ---- who uses it ---- */

/*
 * One waiter or waker less, which may be the last time that the condvar exists.
 * If destroy has taken this one for dead, it is another one's memory by now.
 */
static void users_put(struct shared_cond *s, uint64_t user, uint64_t life)
{
	uint64_t users = load_relaxed(&s->users);

	do {
		if ((users & USERS_LIVES) != life)
			return;
	} while (!cas_acq_rel(&s->users, &users, users - user));
	if (users & USERS_DESTROYED)
		futex_wake(LOW_HALF(&s->users), INT_MAX, true);
}

void cond_shared_init(struct cond *c)
{
	/*
	 * Unlike what was here before, and what will be: a late user then
	 * changes nothing, and does not sleep.
	 */
	uint64_t seed = (uint64_t)clock_now() * UINT64_C(0x9e3779b97f4a7c15);

	store_relaxed(&c->shared.slot[0], seed & SLOT_NUMBERS);
	store_relaxed(&c->shared.slot[1], seed & SLOT_NUMBERS);
	store_relaxed(&c->shared.word[0], (uint32_t)seed);
	store_relaxed(&c->shared.word[1], (uint32_t)seed);
	store_relaxed(&c->shared.users, seed & USERS_LIVES);
}

/* Wait for @users to change. Return: false if it has not, for too long. */
static bool users_change(struct shared_cond *s, uint64_t users)
{
	struct deadline deadline = { .clock = CLOCK_MONOTONIC };
	long ret = 0;

	clock_gettime(deadline.clock, &deadline.at);
	deadline.at.tv_sec += DEAD_AFTER_SECONDS;
	while (load_relaxed(&s->users) == users && ret != -ETIMEDOUT)
		ret = futex_wait(LOW_HALF(&s->users), (uint32_t)users,
				 &deadline, true);
	return load_relaxed(&s->users) != users;
}

void cond_shared_destroy(struct cond *c)
{
	struct shared_cond *s = &c->shared;
	uint64_t users = or_relaxed(&s->users, USERS_DESTROYED);
	bool dead = false;

	users |= USERS_DESTROYED;
	while (users & (USERS_WAITERS | USERS_WAKERS) && !dead) {
		/* A thread of this process lives. */
		dead = !users_change(s, users) && !waiter_is_inside(c);
		if (!dead)
			users = load_acquire(&s->users);
	}
	/* Another life: who counts out from now on writes nothing. */
	while (!cas_acq_rel(&s->users, &users,
			    (users & USERS_LIVES) + USERS_LIFE))
		;
}

/* ---- waiting ---- */

/**
 * struct shared_member - a thread that waits
 * @s: on this condvar
 * @life: in this life of it
 * @slot: in the group of this slot
 * @number: of this number
 * @w: the thread
 * @mutex: the mutex it released and will lock again
 * @sleeps: between the release of the mutex and its return
 * @out: it was unblocked, or has left
 */
struct shared_member {
	struct shared_cond *s;
	uint64_t life;
	int slot;
	uint64_t number;
	struct waiter *w;
	void *mutex;
	bool sleeps;
	bool out;
};

/*
 * Return: false if the group has no room. The word changes, too: a broadcaster
 * that does not know of this member finds it changed, and moves nobody.
 */
static bool shared_join(struct shared_member *m)
{
	struct view v;
	uint64_t seen;

	do {
		v = settled_view(m->s);
		m->slot = !v.old;
		seen = v.state[m->slot];
		if ((seen & SLOT_MEMBERS) == SLOT_MEMBERS)
			return false;
	} while (
		!cas_acq_rel(&m->s->slot[m->slot], &seen, seen + SLOT_BLOCKED));
	word_change(m->s, m->slot);
	m->number = seen & SLOT_NUMBERS;
	return true;
}

/*
 * Has the group been released? It has if destroy has taken the process for dead
 * while it was stopped: this may be other memory by now.
 */
static bool is_released(const struct shared_member *m, uint64_t *seen)
{
	*seen = 0;
	if ((load_acquire(&m->s->users) & USERS_LIVES) != m->life)
		return true;
	*seen = settled_view(m->s).state[m->slot];
	return (*seen & SLOT_NUMBERS) != m->number;
}

/*
 * Stop being a member. @ends: as for group_leave(). Return: 0 if unblocked; else
 * @why, or EAGAIN if that is 0 and the wait goes on.
 */
static int shared_out(struct shared_member *m, int why, bool ends)
{
	uint64_t seen, to;
	bool takes;

	do {
		if (is_released(m, &seen))
			return 0;
		takes = seen & SLOT_TOKENS && !(ends && has_blocked(seen));
		if (!takes && !why)
			return EAGAIN;
		to = seen - (takes ? SLOT_TOKEN : SLOT_BLOCKED);
	} while (!cas_acq_rel(&m->s->slot[m->slot], &seen, to));
	if (ends && !takes && seen & SLOT_TOKENS)
		futex_wake(&m->s->word[m->slot], 1, true);
	return takes ? 0 : why;
}

/* Sleep as a member until unblocked, or there is another reason to return. */
static int shared_sleep(struct shared_member *m,
			const struct deadline *deadline)
{
	futex_word *sleeps_on = &m->s->word[m->slot];
	int why = 0;

	for (;;) {
		/* [S-WORD], and [W-WORD] with an interrupt */
		uint32_t word = load_acquire(sleeps_on);
		int err = shared_out(m, why, false);

		if (err != EAGAIN)
			return err;
		if (waits_can_be_cancelled &&
		    load_relaxed(&m->w->interrupts) != m->w->seen &&
		    cancellation_is_due())
			why = ECANCELED;
		else if (sleep_on(sleeps_on, word, deadline, true, m->w->bit,
				  &thread_this.for_signals) == -ETIMEDOUT)
			why = ETIMEDOUT;
	}
}

/* No member any more: the condvar may be gone after this. */
static void shared_leave(struct shared_member *m)
{
	users_put(m->s, USERS_WAITER, m->life);
	store_relaxed(&m->w->inside, NULL);
}

static int shared_relock(struct shared_member *m)
{
	bool moved = load_relaxed(&m->s->users) & USERS_MOVED;

	waiter_publish(m->w, NULL);
	m->sleeps = false;
	shared_leave(m);
	return user_mutex_lock(m->mutex, moved);
}

/* As member_ended(). */
static void shared_ended(struct shared_member *m)
{
	if (likely(!m->sleeps))
		return;
	if (!m->out)
		shared_out(m, ECANCELED, true);
	shared_relock(m);
}

int cond_shared_wait(struct cond *c, void *mutex,
		     const struct deadline *deadline)
{
	struct shared_member m __attribute__((cleanup(shared_ended))) = {
		.s = &c->shared,
		.life = add_relaxed(&c->shared.users, USERS_WAITER) &
			USERS_LIVES,
		.w = waiter_self(),
		.mutex = mutex,
	};
	int err = ENOMEM, lock_err;

	store_relaxed(&m.w->inside, c);
	if (likely(shared_join(&m)))
		err = user_mutex_unlock(mutex);
	if (unlikely(err)) {
		/* What met us meanwhile is not for us. */
		if (err != ENOMEM && shared_out(&m, err, false) == 0)
			cond_signal(c);
		shared_leave(&m);
		return err;
	}
	m.sleeps = true;
	waiter_publish(m.w, &m.s->word[m.slot]);
	err = shared_sleep(&m, deadline);
	m.out = true;
	lock_err = shared_relock(&m);
	return lock_err ? lock_err : err;
}

/* ---- waking ---- */

/* Is there a waker other than the caller, who counts? */
static bool others_wake(uint64_t users)
{
	return (users & USERS_WAKERS) != USERS_WAKER;
}

/*
 * The end of a signal or broadcast, by a waker of @life: wake @nr[i] sleepers of
 * slot i, and count out.
 */
static void shared_wake(struct shared_cond *s, int nr[2], uint64_t life)
{
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < 2; i++) {
			if (!nr[i])
				continue;
			/* Taken for dead by destroy? */
			if ((load_acquire(&s->users) & USERS_LIVES) != life)
				return;
			word_change(s, i);
			futex_wake(&s->word[i], nr[i], true);
		}
		/* It may have taken our wake-up, or never come to its own. */
		if (!others_wake(load_acquire(&s->users)))
			break;
		nr[0] = nr[1] = INT_MAX;
	}
	users_put(s, USERS_WAKER, life);
}

/* Nobody to release, and nobody else who should have woken somebody. */
static bool is_idle(struct shared_cond *s)
{
	struct view v = view_of(s);

	return !has_blocked(v.state[0] | v.state[1]) &&
	       !((v.state[0] | v.state[1]) & SLOT_RELEASING) &&
	       !(load_relaxed(&s->users) & USERS_WAKERS);
}

/* Unblock one member, if there is one; @nr: whom to wake. */
static void shared_post(struct shared_cond *s, int nr[2])
{
	bool several, done;
	uint64_t seen;
	struct view v;

	do {
		v = settled_view(s);
		seen = v.state[v.old];
		if (!has_blocked(seen | v.state[!v.old]))
			return;
		several = (seen & SLOT_MEMBERS) > SLOT_BLOCKED;
		if (several)
			done = cas_acq_rel(&s->slot[v.old], &seen,
					   seen - SLOT_BLOCKED + SLOT_TOKEN);
		else
			done = renumber(s, v.old, seen) && has_blocked(seen);
	} while (!done);
	nr[v.old] = several ? 1 : INT_MAX;
}

/*
 * Move the sleepers of slot @i, all of which are released, to @plan's target.
 * @word: its word, from before they were. If it has changed, newcomers may
 * sleep there, and nobody is moved. Return: how many have to be woken.
 */
static int shared_move(struct shared_cond *s, int i, uint32_t word,
		       struct wake_plan plan)
{
	if (!plan.move || !cas_acq_rel(&s->word[i], &word, word + 1) ||
	    futex_cmp_requeue(&s->word[i], word + 1, plan.nr_wake, INT_MAX,
			      plan.target, true) < 0)
		return INT_MAX;
	return 0;
}

/*
 * Move all that @v shows, or set in @nr who has to be woken. One thread is woken
 * for both groups, so the younger one's sleepers are first moved behind those of
 * the older one: the chain must not end before they are in it.
 */
static void shared_move_both(struct shared_cond *s, const struct view *v,
			     const uint32_t word[2], struct wake_plan plan,
			     int nr[2])
{
	struct wake_plan young = plan;
	int old = v->old;

	if (has_blocked(v->state[old])) {
		young.nr_wake = 0;
		young.target = &s->word[old];
	}
	if (has_blocked(v->state[!old]))
		nr[!old] = shared_move(s, !old, word[!old], young);
	if (has_blocked(v->state[old]))
		nr[old] = shared_move(s, old, word[old], plan);
}

/* How to unblock those whom @v shows. @target, @holder: cond_shared_wake() */
static struct wake_plan shared_plan(struct shared_cond *s, const struct view *v,
				    futex_word *target,
				    enum mutex_holder holder)
{
	uint64_t nr =
		(v->state[0] & SLOT_MEMBERS) + (v->state[1] & SLOT_MEMBERS);
	struct wake_plan plan;

	/* Sleepers whom others have yet to wake may want another mutex. */
	if (!target || others_wake(load_acquire(&s->users)))
		return PLAN_WAKE_ALL;
	plan = policy_plan(holder, (uint32_t)(nr / SLOT_BLOCKED));
	plan.target = target;
	/* In another pid namespace the holder may have the caller's id. */
	if (plan.move)
		plan.nr_wake = 1;
	return plan;
}

/* Unblock all; @nr: whom to wake. */
static void shared_release(struct shared_cond *s, futex_word *target,
			   enum mutex_holder holder, int nr[2])
{
	struct wake_plan plan;
	uint32_t word[2];
	struct view v;
	uint64_t seen;

	do {
		word[0] = load_acquire(&s->word[0]);
		word[1] = load_acquire(&s->word[1]);
		v = settled_view(s);
		seen = v.state[!v.old];
		if (!has_blocked(v.state[0] | v.state[1]))
			return;
		plan = shared_plan(s, &v, target, holder);
	} while (!cas_acq_rel(&s->slot[!v.old], &seen, seen | SLOT_RELEASING));

	shared_move_both(s, &v, word, plan, nr);
	settled_view(s);
}

void cond_shared_wake(struct cond *c, bool all, futex_word *target,
		      enum mutex_holder holder)
{
	struct shared_cond *s = &c->shared;
	int nr[2] = { 0 };
	struct waiter *w;
	uint64_t before;

	if (is_idle(s))
		return;
	/* Like a waiter, a waker lives as long as its process. */
	w = waiter_self();
	if (w)
		store_relaxed(&w->inside, c);
	if (target)
		or_relaxed(&s->users, USERS_MOVED);
	before = add_seq_cst(&s->users, USERS_WAKER);
	if (all)
		shared_release(s, target, holder, nr);
	else
		shared_post(s, nr);
	shared_wake(s, nr, before & USERS_LIVES);
	if (w)
		store_relaxed(&w->inside, NULL);
}
