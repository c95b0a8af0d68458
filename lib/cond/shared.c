// SPDX-License-Identifier: MIT
/*
 * Condition variables of several processes.
 *
 * The same two groups, but inside the condvar, which is the only memory that
 * all have in common, and every step under its lock. Waiters are woken, not
 * moved: a broadcaster cannot know at which address it sees their mutex,
 * unless it is told (cond_shared_broadcast_on()).
 *
 * Everybody who will still touch the condvar counts in @refs, and destroy
 * waits until none is left: released waiters are awake and do not need the
 * mutex to count themselves out, so this ends also when the caller of destroy
 * holds it.
 *
 * Processes may be killed at any point:
 *  - While it holds the lock: the next to lock finds out, and releases
 *    everybody, since the counts may be half changed.
 *  - Between releasing and waking: the group's count of wakers stays up, so
 *    the next signal or broadcast, of whatever group, wakes it once more.
 *  - While it waits: it stays counted as blocked until its group is released,
 *    so it can absorb one signal. Destroy gives up on references that have not
 *    changed for DEAD_AFTER_SECONDS with everybody awake.
 */
#include <limits.h>

#include "cond/cond.h"
#include "cond/policy.h"

/*
 * Fields of struct cond::state: which group is open; for each group, how many
 * wake-alls are on their way; for each group, whether members have ever been
 * moved to the mutex; destroy is waiting.
 */
#define SHARED_OPENED	 UINT32_C(1)
#define SHARED_WAKING(i) (UINT32_C(1) << (1 + 14 * (i)))
#define SHARED_WAKERS(i) (SHARED_WAKING(i) * 0x3fff)
#define SHARED_MOVED(i)	 (UINT32_C(1) << (29 + (i)))
#define SHARED_DESTROYED (UINT32_C(1) << 31)

/* How long destroy waits for a waiter that has been woken and does not come. */
#define DEAD_AFTER_SECONDS 2

static inline int open_index(struct cond *c)
{
	return c->shared.state & SHARED_OPENED;
}

static inline void word_change(struct shared_group *g)
{
	add_relaxed(&g->word, 1);
}

/* Release all members of @g; they are free by its number. [lock] */
static void shared_release(struct shared_group *g)
{
	g->number++;
	g->blocked = 0;
	g->tokens = 0;
	word_change(g);
}

static bool old_take(struct cond *c)
{
	uint32_t seen, tid = thread_tid();

	for (;;) {
		long ret;

		seen = 0;
		if (cas_acquire(&c->shared.lock, &seen, tid))
			return true;
		ret = futex_lock_pi(&c->shared.lock, NULL, true);
		if (ret == 0) {
			if (!(load_acquire(&c->shared.lock) & FUTEX_OWNER_DIED))
				return true;
			and_relaxed(&c->shared.lock,
				    ~(uint32_t)FUTEX_OWNER_DIED);
			return false;
		}
		if ((ret == -ESRCH || ret == -EDEADLK) &&
		    cas_acquire(&c->shared.lock, &seen,
				tid | (seen & FUTEX_WAITERS)))
			return false;
		thread_pause(0);
	}
}

static void old_drop(struct cond *c)
{
	uint32_t tid = thread_tid();

	if (!cas_release(&c->shared.lock, &tid, 0))
		futex_unlock_pi(&c->shared.lock, true);
}

void cond_shared_init(struct cond *c)
{
	(void)c;
}

/* Drop one reference and the lock; the condvar may be gone afterwards. */
static void shared_put_unlock(struct cond *c)
{
	bool awaited = c->shared.state & SHARED_DESTROYED;

	store_relaxed(&c->shared.refs, load_relaxed(&c->shared.refs) - 1);
	if (awaited)
		futex_wake(&c->shared.refs, INT_MAX, true);
	old_drop(c);
}

static void shared_get(struct cond *c)
{
	store_relaxed(&c->shared.refs, load_relaxed(&c->shared.refs) + 1);
}

/* The holder of the lock has died: nothing is certain but that it was held. */
static void shared_recover(struct cond *c)
{
	for (int i = 0; i < 2; i++) {
		shared_release(&c->shared.group[i]);
		futex_wake(&c->shared.group[i].word, INT_MAX, true);
	}
	c->shared.state &= ~(SHARED_WAKERS(0) | SHARED_WAKERS(1));
}

static void shared_lock(struct cond *c)
{
	if (!old_take(c))
		shared_recover(c);
}

/* Wait for @refs to change. Return: false if it has not, for too long. */
static bool shared_await_change(struct cond *c, uint32_t refs)
{
	struct deadline deadline = { .clock = CLOCK_MONOTONIC };
	long ret = 0;

	clock_gettime(deadline.clock, &deadline.at);
	deadline.at.tv_sec += DEAD_AFTER_SECONDS;
	while (load_relaxed(&c->shared.refs) == refs && ret != -ETIMEDOUT)
		ret = futex_wait(&c->shared.refs, refs, &deadline, true);
	return ret != -ETIMEDOUT;
}

void cond_shared_destroy(struct cond *c)
{
	bool alive = true;
	uint32_t refs;

	shared_lock(c);
	c->shared.state |= SHARED_DESTROYED;
	while (alive && (refs = load_relaxed(&c->shared.refs)) != 0) {
		old_drop(c);
		alive = shared_await_change(c, refs);
		shared_lock(c);
	}
	c->shared.state &= ~SHARED_DESTROYED;
	old_drop(c);
}

/* Was this member unblocked? @number: of its group when it joined. [lock] */
static bool shared_take(struct shared_group *g, uint32_t number)
{
	if (g->number != number)
		return true;
	if (!g->tokens)
		return false;
	g->tokens--;
	return true;
}

/*
 * Sleep as a member of @g until unblocked. The lock is held on return.
 * @word: the group's word at the time of joining.
 */
static int shared_sleep(struct cond *c, struct shared_group *g, uint32_t number,
			uint32_t word, const struct deadline *deadline)
{
	struct waiter *w = waiter_self();

	for (;;) {
		int why = 0;

		if (waits_can_be_cancelled &&
		    load_relaxed(&w->interrupts) != w->seen &&
		    cancellation_is_due())
			why = ECANCELED;
		else if (futex_wait_bits(&g->word, word, deadline, true,
					 w->bit) == -ETIMEDOUT)
			why = ETIMEDOUT;

		shared_lock(c);
		if (shared_take(g, number))
			return 0;
		if (why) {
			g->blocked--;
			return why;
		}
		word = load_acquire(&g->word); /* [W-LOOK] */
		old_drop(c);
	}
}

int cond_shared_wait(struct cond *c, void *mutex,
		     const struct deadline *deadline)
{
	struct waiter *w = waiter_self();
	struct shared_group *g;
	uint32_t number, word;
	int err, lock_err;
	bool moved;

	shared_lock(c);
	g = &c->shared.group[open_index(c)];
	g->blocked++;
	number = g->number;
	word = load_relaxed(&g->word);
	shared_get(c);
	old_drop(c);

	err = user_mutex_unlock(mutex);
	if (err) {
		bool signalled;

		shared_lock(c);
		signalled = shared_take(g, number);
		if (!signalled)
			g->blocked--;
		shared_put_unlock(c);
		if (signalled) /* not for us: we never slept */
			cond_shared_signal(c);
		return err;
	}

	waiter_publish(w, &g->word);
	err = shared_sleep(c, g, number, word, deadline);
	waiter_publish(w, NULL);
	moved = c->shared.state & SHARED_MOVED(g - c->shared.group);
	shared_put_unlock(c);

	lock_err = user_mutex_lock(mutex, moved);
	return lock_err ? lock_err : err;
}

/*
 * Finish a signal or broadcast: drop the lock, wake @nr[i] sleepers of group i,
 * count ourselves out. Where wake-alls are on their way already, members of an
 * earlier group may still sleep on the word and take a wake-up that is meant
 * for a member, or the waker may have been killed: then all look up.
 */
static void shared_wake(struct cond *c, const int nr[2])
{
	int wake[2];

	shared_get(c);
	for (int i = 0; i < 2; i++) {
		wake[i] = c->shared.state & SHARED_WAKERS(i) ? INT_MAX : nr[i];
		if (nr[i])
			c->shared.state += SHARED_WAKING(i);
	}
	old_drop(c);

	for (int i = 0; i < 2; i++)
		if (wake[i])
			futex_wake(&c->shared.group[i].word, wake[i], true);

	shared_lock(c);
	for (int i = 0; i < 2; i++)
		if (nr[i] && (c->shared.state & SHARED_WAKERS(i)))
			c->shared.state -= SHARED_WAKING(i);
	shared_put_unlock(c);
}

/* Make no system call when there is nobody to wake. */
static void shared_wake_or_unlock(struct cond *c, const int nr[2])
{
	if (nr[0] || nr[1] ||
	    (c->shared.state & (SHARED_WAKERS(0) | SHARED_WAKERS(1))))
		shared_wake(c, nr);
	else
		old_drop(c);
}

/* Unblock one member of @g, if there is one. Return: how many sleepers to wake. */
static int shared_post(struct shared_group *g)
{
	if (g->blocked <= 1) {
		if (!g->blocked)
			return 0;
		shared_release(g);
		return INT_MAX;
	}
	g->blocked--;
	g->tokens++;
	word_change(g);
	return 1;
}

void cond_shared_signal(struct cond *c)
{
	int nr[2] = { 0 };
	int closed;

	shared_lock(c);
	if (!c->shared.group[!open_index(c)].blocked)
		/* The closed group is used up: the open one takes its place. */
		c->shared.state ^= SHARED_OPENED;
	closed = !open_index(c);
	nr[closed] = shared_post(&c->shared.group[closed]);
	shared_wake_or_unlock(c, nr);
}

/*
 * Move the sleepers of group @i, which has just been released, to @target.
 * With the lock held: without it, new members would be moved too. Return:
 * false if they have to be woken.
 */
static bool shared_move(struct cond *c, int i, struct wake_plan plan)
{
	futex_word *word = &c->shared.group[i].word;
	long ret;

	if (!plan.move)
		return false;
	c->shared.state |= SHARED_MOVED(i);
	ret = futex_cmp_requeue(word, load_relaxed(word), plan.nr_wake, INT_MAX,
				plan.target, true);
	return ret >= 0;
}

static void shared_broadcast(struct cond *c, struct wake_plan plan)
{
	int nr[2] = { 0 };

	for (int i = 0; i < 2; i++) {
		if (c->shared.group[i].blocked) {
			shared_release(&c->shared.group[i]);
			nr[i] = shared_move(c, i, plan) ? 0 : INT_MAX;
		}
	}
	shared_wake_or_unlock(c, nr);
}

void cond_shared_broadcast(struct cond *c)
{
	shared_lock(c);
	shared_broadcast(c, PLAN_WAKE_ALL);
}

void cond_shared_broadcast_on(struct cond *c, void *mutex, futex_word *target)
{
	struct wake_plan plan;
	uint32_t nr;

	shared_lock(c);
	nr = c->shared.group[0].blocked + c->shared.group[1].blocked;
	plan = policy_plan(user_mutex_holder(mutex), nr);
	plan.target = target;
	if (plan.move && plan.nr_wake == 0)
		user_mutex_set_contended(target);
	shared_broadcast(c, plan);
}
