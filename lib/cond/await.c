// SPDX-License-Identifier: MIT
/*
 * Waits with a predicate, of the native API. The thread that signals with the
 * mutex held evaluates the predicates of the waiters for them, and unblocks the
 * first one whose predicate is true: D. Dice and A. Kogan, "Ready When You Are:
 * Efficient Condition Variables via Delegated Condition Evaluation".
 *
 * Each such waiter is an awaiter, in the stack frame of its wait. It waits on a
 * condvar of its own that lies there, too, so it sleeps, and is woken or moved,
 * as on any condvar. This file only decides which awaiter's own condvar is
 * signalled.
 *
 * The awaiters of a condvar are in a list, oldest first, and all have the same
 * mutex. A thread changes the list with both the mutex and the condvar's lock
 * held, so a thread that has either of them may walk the list. An awaiter stays
 * where it is, and its frame exists, as long as another thread has one of the
 * two.
 *
 * Two kinds of caller look for the next awaiter to unblock, unblock_next():
 *
 *   with the mutex	It evaluates predicates from the oldest awaiter on, and
 *			unblocks the first one whose predicate is true. It
 *			evaluates MOST_EVALUATED at most, and unblocks the
 *			awaiter behind these in any case: that awaiter looks at
 *			the rest.
 *   without it		It must not evaluate predicates. It unblocks the first
 *			awaiter that has joined its own condvar, in any case.
 *
 * An awaiter that comes back has the mutex, and evaluates its own predicate. If
 * the predicate is false, the awaiter waits again at the same place in the
 * list. It hands on a signal or a broadcast that it has not used to the
 * awaiters behind it: hand_on(). The awaiters before it have been evaluated, or
 * are on their way themselves.
 *
 *   a signal		is handed on if the predicate is false
 *   a broadcast	is handed on in any case: one awaiter after the other is
 *			unblocked, each by the one before it, until no predicate
 *			is true any more. If the first one has taken what all
 *			were waiting for, only the next one wakes in vain. With
 *			several CPUs a broadcast begins with two awaiters, so
 *			that one runs while the next is on its way.
 *
 * [A-JOIN] A caller without the mutex skips an awaiter whose own condvar has no
 * waiter yet. This loses no wake-up of an awaiter that is about to sleep.
 *
 *	CPU 0: awaiter				CPU 1: signals without the mutex
 *
 *	lock the mutex				lock the mutex
 *	evaluate: false				make the predicate true
 *	join its own condvar			unlock the mutex
 *	unlock the mutex			load: has anybody joined?
 *
 * If CPU 0 was the first to have the mutex, CPU 1 finds that the awaiter has
 * joined. If CPU 1 was the first, the predicate is true for CPU 0. The same
 * holds for an awaiter that hands on and waits again.
 *
 * A caller that signals does not wake the awaiter that it finds if that one
 * sleeps, and if more awaiters before it are on their way than there are CPUs
 * for them. It leaves the signal to the last of these, which hands the signal
 * on when it has the mutex. This saves a system call, and often the wake-up,
 * because the awaiters that run take what the caller has made ready. No signal
 * is lost: the awaiter on its way sets @state to 0 with the mutex and the lock
 * of the condvar held, and the caller has one of the two while it finds that
 * @state is not 0 and adds the signal. The awaiters before that one cannot use
 * the signal, or are on their way themselves.
 */
#include "cond/group.h"
#include "mutex/mutex.h"

/*
 * As many as one call moves to a mutex (SLICE, wake.c): both numbers limit what
 * a signaller does while it holds the mutex.
 */
#define MOST_EVALUATED 64

/* struct awaiter::state: if it is not 0, the awaiter is on its way. */
#define SIGNAL	  1u	     /* each signal adds this */
#define BROADCAST (1u << 31) /* set by a broadcast */

/**
 * struct awaiter - a thread that waits with a predicate
 * @next, @prev: the list of @of; @prev of the first is the last
 * @predicate, @arg: what it waits for
 * @state: what has unblocked it. The thread that changes it from 0 also signals
 *	   @own. The awaiter sets it to 0, under the lock of @of, before it waits
 *	   again.
 * @is_true: what @predicate was when the awaiter evaluated it last
 * @mutex: the mutex of its wait
 * @of: the condvar that has it in its list; NULL: none yet, or it is destroyed
 * @own: the condvar that it alone waits on
 */
struct awaiter {
	struct awaiter *next;
	bool (*predicate)(void *arg);
	void *arg;
	_Atomic uint32_t state;
	bool is_true;
	struct awaiter *prev;
	struct mutex *mutex;
	struct cond *of;
	struct cond own;
};

static struct awaiter *first_of(struct cond *c)
{
	uint64_t high = load_relaxed(&c->await_high);

	return (struct awaiter *)(uintptr_t)(high << 32 |
					     load_relaxed(&c->await_low));
}

/*
 * The caller has both locks of the list. The flag is for threads without them.
 */
static void set_first(struct cond *c, struct awaiter *a)
{
	uint64_t at = (uintptr_t)a;

	store_relaxed(&c->await_low, (uint32_t)at);
	store_relaxed(&c->await_high, (uint32_t)(at >> 32));
	if (a)
		or_relaxed(&c->flags, COND_AWAITED);
	else if (and_relaxed(&c->flags, ~COND_AWAITED) & COND_DESTROYED)
		futex_wake(&c->flags, INT_MAX, false);
}

/*
 * Can predicates be evaluated? Not by a thread that has got the mutex of a dead
 * holder, because the holder may have left the data in any state.
 */
static bool may_evaluate(struct mutex *m)
{
	return mutex_held_by_caller(m) && m->health == MUTEX_SOUND;
}

/*
 * May @a be asleep, so that its wake-up takes a system call? The answer may be
 * out of date: it decides only which awaiter gets a signal.
 */
static bool may_sleep(struct awaiter *a)
{
	struct group *g = load_relaxed(&a->own.open);

	return g && !(load_relaxed(&g->state) & GROUP_NO_SLEEPERS);
}

/*
 * Unblock the next @nr awaiters, from @a on; see above. The caller has locked
 * @c. This function unlocks @c: before it evaluates predicates, or else before
 * it wakes the last of the awaiters, because threads that hold the mutex need
 * the lock to enter or leave the list. @how: BROADCAST, or a number of signals,
 * all for the same awaiter. Return: false if it found no awaiter to unblock.
 *
 * A broadcast that finds an awaiter on its way leaves the rest of the list to
 * this awaiter, which hands the broadcast on. A signal is not left to another
 * awaiter while threads wait without a predicate, because the signal may be for
 * them. Nor is it left if the mutex inherits priorities, because the other
 * awaiter may have a low priority, and then gets no CPU.
 */
static bool unblock_next(struct cond *c, struct awaiter *a, uint32_t how,
			 int nr)
{
	bool all = how & BROADCAST, evaluates = a && may_evaluate(a->mutex);
	bool may_leave = a && !all && !load_relaxed(&c->closed_low) &&
			 !mutex_is_pi(a->mutex);
	struct lock *held = evaluates ? NULL : &c->lock;
	uint32_t nr_coming = 0, nr_evaluated = 0;
	struct awaiter *coming = NULL;
	int left = nr;
	bool found;

	if (evaluates)
		lock_drop(&c->lock);
	for (; a && left; a = a->next) {
		if (load_relaxed(&a->state)) {
			found = all;
			coming = a;
			nr_coming++;
		} else if (evaluates) {
			found = nr_evaluated++ >= MOST_EVALUATED ||
				a->predicate(a->arg);
		} else {
			found = load_relaxed(&a->own.closed_low); /* [A-JOIN] */
		}
		if (!found)
			continue;
		if (may_leave && nr_coming > poll_cpus() && may_sleep(a))
			a = coming;
		left--;
		/* A caller without the mutex may have unblocked @a first. */
		if (all ? or_relaxed(&a->state, BROADCAST) :
			  add_relaxed(&a->state, how))
			continue;
		signal_private(&a->own, left ? NULL : held);
		if (!left)
			return true;
	}
	if (held)
		lock_drop(held);
	return left < nr;
}

/*
 * @a has not used the broadcast, or the signals, of @how. The caller has locked
 * @c, and this function unlocks it. @a is still in the list, so @c exists.
 * Signals that no awaiter can use go to the threads that wait without a
 * predicate. A broadcast has already reached these threads.
 */
static void hand_on(struct cond *c, struct awaiter *a, uint32_t how)
{
	if (!unblock_next(c, a->next, how, 1))
		while (!(how & BROADCAST) && how--)
			cond_signal(c);
}

/*
 * Enter @a in the list of @c. Return: false if @a stays out of the list, and
 * the caller waits on @c itself.
 */
static bool awaiter_enter(struct awaiter *a, struct cond *c)
{
	struct awaiter *first;
	bool fits;

	if (load_relaxed(&c->flags) & COND_SHARED)
		return false;
	cond_lock(c);
	first = first_of(c);
	fits = !first || first->mutex == a->mutex;
	if (fits) {
		a->of = c;
		a->prev = first ? first->prev : a;
		if (first) {
			first->prev->next = a;
			first->prev = a;
		} else {
			set_first(c, a);
		}
	}
	lock_drop(&c->lock);
	return fits;
}

/*
 * The predicate of @a is false, and @a waits again. Return: 0, or EINVAL if the
 * condvar was destroyed.
 */
static int awaiter_stays(struct awaiter *a)
{
	uint32_t how;

	if (!a->of)
		return EINVAL;
	cond_lock(a->of);
	how = swap_relaxed(&a->state, 0);
	if (how)
		hand_on(a->of, a, how);
	else
		lock_drop(&a->of->lock);
	return 0;
}

/* Runs however the wait ends: also by an exception or the end of the thread. */
static void awaiter_leave(struct awaiter *a)
{
	struct cond *c = a->of;
	uint32_t how, used = a->is_true;
	struct awaiter *first;

	if (!c)
		return;
	cond_lock(c);
	while ((how = swap_relaxed(&a->state, 0)) > used) {
		hand_on(c, a, how & BROADCAST ?: how - used);
		used = 0;
		cond_lock(c);
	}
	first = first_of(c);
	(a->next ?: first)->prev = a->prev;
	if (a == first)
		set_first(c, a->next);
	else
		a->prev->next = a->next;
	lock_drop(&c->lock);
}

int cond_await(struct cond *c, struct mutex *m, bool (*predicate)(void *arg),
	       void *arg, const struct deadline *deadline)
{
	struct awaiter a __attribute__((cleanup(awaiter_leave))) = {
		.mutex = m, .predicate = predicate, .arg = arg
	};
	struct cond *on = c;
	int err = 0;

	if (!mutex_held_by_caller(m))
		return EPERM;
	a.is_true = predicate(arg);
	if (!a.is_true && awaiter_enter(&a, c))
		on = &a.own;
	while (!a.is_true && !err) {
		err = cond_wait(on, m, deadline);
		if (err && err != ETIMEDOUT)
			break; /* the mutex's: it guards nothing now */
		a.is_true = predicate(arg);
		if (!a.is_true && !err && on != c)
			err = awaiter_stays(&a);
	}
	return a.is_true ? 0 : err;
}

bool await_wake(struct cond *c, bool all)
{
	uint32_t how = all ? BROADCAST : SIGNAL;
	bool found, others;

	cond_lock(c);
	others = load_relaxed(&c->closed_low);
	found = unblock_next(c, first_of(c), how,
			     all && poll_has_cpu() ? 2 : 1);
	/* The condvar may no longer exist once an awaiter was unblocked. */
	return found && !(all && others);
}

/*
 * If the caller holds the mutex, no awaiter can be using the condvar at the
 * moment. The caller empties the list and unblocks all awaiters that were in
 * it, and they do not use the condvar any more. Without the mutex the caller
 * waits until all awaiters have left.
 */
void await_destroy(struct cond *c)
{
	struct awaiter *a, *next;

	if (likely(!(load_relaxed(&c->flags) & COND_AWAITED)))
		return;
	cond_lock(c);
	a = first_of(c);
	if (a && mutex_held_by_caller(a->mutex)) {
		set_first(c, NULL);
		for (; a; a = next) {
			next = a->next;
			a->of = NULL;
			cond_signal(&a->own);
		}
	}
	lock_drop(&c->lock);
	cond_await_flags(c, COND_AWAITED);
}
