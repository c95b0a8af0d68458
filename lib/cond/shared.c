// SPDX-License-Identifier: MIT
/*
 * Condition variables of several processes; shared.h has the states.
 *
 * Processes may be killed at any point:
 *  - A killed waiter stays blocked until its group is released. So it can
 *    absorb one signal, but never a broadcast.
 *  - A signaller is counted as a waker from before its release until after its
 *    wake-up. So is a waiter whose thread ends, which passes its wake-up on. If
 *    a waker finds that another waker is counted, dead or alive, it wakes all
 *    sleepers. So the next signal or broadcast makes the wake-ups that a killed
 *    waker has not made.
 *
 * Two signallers that wake at the same time may each wake a member of the wrong
 * group, which sleeps again. So after its wake-up each signaller looks whether
 * another one is counted, and if so wakes all sleepers. If the second signaller
 * to be counted out finds no other waker, there are two cases: the first
 * signaller found the second one counted, and woke all sleepers after both had
 * released; or the first signaller was counted out before the second one was
 * counted in.
 *
 * Waiters are moved only by drover_cond_broadcast_on(). The signaller then does
 * not know whether it holds the mutex, so it wakes one waiter (the duty
 * "mover", cond.h). Once threads were moved from a condvar, each of its waiters
 * has the duty "woken": USERS_MOVED. While waiters or wakers are still counted,
 * drover_cond_destroy_on() wakes all threads on the mutex.
 */
#include "base/waiter.h"
#include "cond/policy.h"
#include "cond/shared.h"

/* After this time destroy takes silent users of other processes for dead. */
#define DEAD_AFTER_SECONDS 2

/* Two kinds of sleeper, in the bits that struct waiter::bit leaves free. */
#define EVEN (UINT32_C(1) << WAITER_BITS)
#define ODD  (EVEN << 1)

/* Which kind of sleeper the members of the group with @number are. */
static uint32_t kind_of(uint64_t number)
{
	return number & SHARED_NUMBER ? ODD : EVEN;
}

/* The number of the younger group. */
static uint64_t next_number(uint64_t state)
{
	return (state & SHARED_NUMBERS) + SHARED_NUMBER;
}

/* The older group is released, and the younger one becomes the older. */
static uint64_t next_group(uint64_t state)
{
	return next_number(state) +
	       (state & SHARED_YOUNGS) * (SHARED_OLD / SHARED_YOUNG);
}

/*
 * [S-WORD] Members sleep on a word of their own, beside the state.
 *
 *	CPU 0: member				CPU 1: signaller
 *
 *						change the state
 *	acquire: word			<---	release: change the word
 *	load the state: nothing for it		wake who sleeps on the word
 *	sleep, if the word is the same
 *
 * If CPU 0 loads the new word, it also loads the new state, and does not sleep.
 * If CPU 0 loads the old word, either the kernel finds the new one and does not
 * let CPU 0 sleep, or CPU 0 is asleep before CPU 1 makes its wake-up call.
 */
static void word_change(struct shared_cond *s)
{
	add_release(&s->word, 1);
}

/*
 * The seed gives this condvar another state, word and life than a former or a
 * later condvar in the same memory has. So a late user of a former condvar at
 * most changes the word, and does not sleep.
 */
void shared_cond_init(struct shared_cond *s)
{
	uint64_t seed = (uint64_t)clock_now() * UINT64_C(0x9e3779b97f4a7c15);

	store_relaxed(&s->state, seed & SHARED_NUMBERS);
	store_relaxed(&s->word, (uint32_t)seed);
	store_relaxed(&s->users, seed & USERS_LIVES);
}

/*
 * Add @more waiters or wakers. If @more takes one away, the condvar may no
 * longer exist afterwards. If destroy has taken the caller for dead, the memory
 * may be another condvar's by now; that condvar has another life, and this
 * function writes nothing.
 */
static void users_add(struct shared_cond *s, uint64_t more, uint64_t life)
{
	uint64_t users = load_relaxed(&s->users);

	do {
		if ((users & USERS_LIVES) != life)
			return;
	} while (!cas_acq_rel(&s->users, &users, users + more));
	if (users & USERS_DESTROYED)
		futex_wake(LOW_HALF(&s->users), INT_MAX, true);
}

void shared_cond_destroy(struct shared_cond *s, futex_word *target)
{
	struct deadline deadline = { .clock = CLOCK_MONOTONIC };
	uint64_t users = or_relaxed(&s->users, USERS_DESTROYED),
		 before = ~users;
	long ret;

	users |= USERS_DESTROYED;
	while (users & (USERS_WAITERS | USERS_WAKERS)) {
		/* A waker that is still counted may have moved threads. */
		if (target && (users ^ before) & USERS_WAKERS)
			futex_wake(target, INT_MAX, true);
		clock_gettime(deadline.clock, &deadline.at);
		deadline.at.tv_sec += DEAD_AFTER_SECONDS;
		before = users;
		do {
			ret = futex_wait(LOW_HALF(&s->users), (uint32_t)before,
					 &deadline, true);
			users = load_acquire(&s->users);
		} while (users == before && ret != -ETIMEDOUT);
		/* A thread of this process lives. */
		if (users == before && !waiter_is_inside(s))
			break;
	}
	/* With another life, users that are counted out late write nothing. */
	while (!cas_acq_rel(&s->users, &users,
			    (users & USERS_LIVES) + USERS_LIFE))
		;
}

/* Is a waker counted other than the caller, which is counted as well? */
static bool others_wake(uint64_t users)
{
	return (users & USERS_WAKERS) != USERS_WAKER;
}

/*
 * The end of a waker of @life: wake @nr sleepers of @kinds, and count the
 * caller out.
 */
static void shared_wake(struct shared_cond *s, int nr, uint32_t kinds,
			uint64_t life)
{
	for (int pass = 0; pass < 2; pass++) {
		/* Has destroy taken the caller for dead? */
		if ((load_acquire(&s->users) & USERS_LIVES) != life)
			return;
		if (nr) {
			word_change(s);
			futex_wake_bits(&s->word, nr, true, kinds);
		}
		/*
		 * Another waker is counted. A member that this waker has
		 * released may have got the caller's wake-up, or this waker may
		 * have died before it woke its members.
		 */
		if (!others_wake(load_acquire(&s->users)))
			break;
		nr = INT_MAX;
		kinds = EVEN | ODD;
	}
	users_add(s, -USERS_WAKER, life);
}

/**
 * struct shared_member - a thread that waits
 * @s: the condvar; NULL when the thread uses it no more
 * @life: the life of @s
 * @number: the number of its group
 * @w: the thread
 * @mutex: the mutex that it released and will lock again
 * @waits: it has joined, and has not got the mutex back
 * @out: it was unblocked, or has left its group
 * @moved: members may have been moved to the mutex
 */
struct shared_member {
	struct shared_cond *s;
	uint64_t life;
	uint64_t number;
	struct waiter *w;
	void *mutex;
	bool waits;
	bool out;
	bool moved;
};

/*
 * Join the younger group. Return: false if it has no room. The word changes,
 * too, so a broadcaster that does not know of this member finds another word,
 * and moves no thread.
 */
static bool shared_join(struct shared_member *m)
{
	uint64_t seen = load_acquire(&m->s->state);

	do {
		if ((seen & SHARED_YOUNGS) == SHARED_YOUNGS)
			return false;
	} while (!cas_acq_rel(&m->s->state, &seen, seen + SHARED_YOUNG));
	word_change(m->s);
	m->number = next_number(seen);
	return true;
}

/*
 * Stop being a member, if unblocked or if there is another reason, @why. @ends:
 * as for group_leave(). Return: 0 if unblocked; otherwise @why, or EAGAIN if
 * @why is 0 and the caller is still a member. If destroy took the process for
 * dead while the process was stopped, the memory may be another condvar's by
 * now, and the member is treated as unblocked.
 */
static int shared_out(struct shared_member *m, int why, bool ends)
{
	uint64_t seen, to;
	bool old, takes;

	do {
		if ((load_acquire(&m->s->users) & USERS_LIVES) != m->life)
			return 0;
		seen = load_acquire(&m->s->state);
		old = (seen & SHARED_NUMBERS) == m->number;
		if (!old && next_number(seen) != m->number)
			return 0;
		takes = old && seen & SHARED_TOKENS &&
			!(ends && seen & SHARED_OLDS);
		if (!takes && !why)
			return EAGAIN;
		to = seen - (takes ? SHARED_TOKEN :
			     old   ? SHARED_OLD :
				     SHARED_YOUNG);
	} while (!cas_acq_rel(&m->s->state, &seen, to));
	return takes ? 0 : why;
}

/* Sleep as a member until unblocked or until there is a reason to leave. */
static int shared_sleep(struct shared_member *m,
			const struct deadline *deadline)
{
	uint32_t kinds = m->w->bit | kind_of(m->number);
	int why = 0;

	for (;;) {
		/* [S-WORD] with word_change(), [W-WORD] with cond_cancel() */
		uint32_t word = load_acquire(&m->s->word);
		int err = shared_out(m, why, false);

		if (err != EAGAIN)
			return err;
		if (load_relaxed(&m->w->cancellations) !=
			    m->w->cancellations_seen &&
		    cancellation_is_due())
			why = ECANCELED;
		else if (sleep_on(&m->s->word, word, deadline, true, kinds,
				  &thread_this.for_signals) == -ETIMEDOUT)
			why = ETIMEDOUT;
	}
}

/*
 * Count the caller out, which is no longer a member. The condvar may then be
 * gone.
 */
static void shared_leave(struct shared_member *m)
{
	struct shared_cond *s = m->s;

	m->out = true;
	m->moved = load_relaxed(&s->users) & USERS_MOVED;
	waiter_publish(m->w, NULL); /* may sleep, so the thread may end here */
	m->s = NULL;
	users_add(s, -USERS_WAITER, m->life);
	store_relaxed(&m->w->inside, NULL);
}

/*
 * The thread ends in the middle of its wait, as in member_ended(). The thread
 * may have got the wake-up for a signal that it leaves to another member, so it
 * wakes one member. A recursive mutex that the thread has locked more than once
 * is then locked one time less than before.
 */
static void shared_ended(struct shared_member *m)
{
	if (likely(!m->waits))
		return;
	if (m->s && !m->out) {
		users_add(m->s, USERS_WAKER, m->life);
		shared_out(m, ECANCELED, true);
		shared_wake(m->s, 1, kind_of(m->number), m->life);
	}
	if (m->s)
		shared_leave(m);
	user_mutex_regain(m->mutex);
}

int shared_cond_wait(struct shared_cond *s, void *mutex,
		     const struct deadline *deadline)
{
	struct shared_member m __attribute__((cleanup(shared_ended))) = {
		.s = s,
		.life = add_relaxed(&s->users, USERS_WAITER) & USERS_LIVES,
		.w = waiter_self(),
		.mutex = mutex,
	};
	int err = ENOMEM, lock_err;

	store_relaxed(&m.w->inside, s);
	m.waits = shared_join(&m);
	if (likely(m.waits))
		err = user_mutex_unlock(mutex);
	if (unlikely(err)) {
		/*
		 * Pass a signal that has unblocked this member on to another
		 * one.
		 */
		if (err != ENOMEM && shared_out(&m, err, false) == 0)
			shared_cond_wake(s, false, NULL);
		m.waits = false;
		shared_leave(&m);
		return err;
	}
	waiter_publish(m.w, &m.s->word);
	err = shared_sleep(&m, deadline);
	shared_leave(&m);
	lock_err = user_mutex_lock(mutex, m.moved);
	m.waits = false;
	/* The error of the mutex comes first, as in cond_wait(). */
	return lock_err ? lock_err : err;
}

/* Unblock one member, if there is one. Return: how many of @kind to wake. */
static int shared_post(struct shared_cond *s, uint32_t *kind)
{
	uint64_t seen = load_acquire(&s->state), to;
	bool several;

	PROBE(signal, s, 0);
	do {
		if (!(seen & SHARED_BLOCKED))
			return 0;
		to = seen & SHARED_OLDS ? seen : next_group(seen);
		*kind = kind_of(to);
		several = (to & SHARED_OLDS) > SHARED_OLD;
		to = several ? to - SHARED_OLD + SHARED_TOKEN : next_group(to);
	} while (!cas_acq_rel(&s->state, &seen, to));
	return several ? 1 : INT_MAX;
}

/*
 * Unblock all members. If the policy moves them to @target, wake one and move
 * the rest. If the word is not what it was before they were released, newcomers
 * may sleep there, and no thread is moved. Return: how many sleepers the caller
 * has to wake.
 */
static int shared_release(struct shared_cond *s, futex_word *target)
{
	uint64_t seen, nr;
	uint32_t word;
	bool moves;

	PROBE(broadcast, s, 0);
	do {
		word = load_acquire(&s->word);
		seen = load_acquire(&s->state);
		if (!(seen & SHARED_BLOCKED))
			return 0;
		nr = (seen & SHARED_OLDS) / SHARED_OLD +
		     (seen & SHARED_YOUNGS) / SHARED_YOUNG;
		/*
		 * The function does not ask whether the caller holds the mutex,
		 * because thread ids mean nothing in other pid namespaces. It
		 * moves no thread while other wakers are counted, because the
		 * sleepers that they have yet to wake may want another mutex.
		 */
		moves = target && !others_wake(load_acquire(&s->users)) &&
			policy_moves_to(load_relaxed(target) == LOCK_FREE ?
						MUTEX_FREE :
						MUTEX_HELD_BY_OTHER,
					nr);
	} while (
		!cas_acq_rel(&s->state, &seen, next_number(next_number(seen))));

	if (!moves || !cas_acq_rel(&s->word, &word, word + 1) ||
	    futex_cmp_requeue(&s->word, word + 1, 1, INT_MAX, target, true) < 0)
		return INT_MAX;
	return 0;
}

void shared_cond_wake(struct shared_cond *s, bool all, futex_word *target)
{
	uint32_t kinds = EVEN | ODD;
	struct waiter *w;
	uint64_t before;
	int nr;

	/* Is there no member to release, and no waker that may have died? */
	if (!(load_acquire(&s->state) & SHARED_BLOCKED) &&
	    !(load_relaxed(&s->users) & USERS_WAKERS))
		return;
	/* Like a waiter, a waker lives as long as its process. */
	w = waiter_self();
	if (w)
		store_relaxed(&w->inside, s);
	if (target)
		or_relaxed(&s->users, USERS_MOVED);
	before = add_seq_cst(&s->users, USERS_WAKER);
	nr = all ? shared_release(s, target) : shared_post(s, &kinds);
	shared_wake(s, nr, kinds, before & USERS_LIVES);
	if (w)
		store_relaxed(&w->inside, NULL);
}
