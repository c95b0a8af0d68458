/* SPDX-License-Identifier: MIT */
/*
 * The condition variable inside. One implementation serves the native API
 * (cond_native.c) and the drop-in (pthread/); they differ in the mutex only,
 * which the core reaches through struct mutex_ops.
 *
 * A condvar of one process keeps its waiters in groups (group.h): arrivals
 * join the open group; a signal goes to the closed, older one, and closes the
 * open one when there is none. So nobody who comes after a signal can take it.
 *
 * Lock order: a condvar's lock, then its groups' claims, the closed one's
 * first; then one of the innermost: of the spare groups, of the waiters' pool or
 * a bucket of them. The one under which ghosts are dropped comes alone. No mutex
 * of the user's is taken with any of them held.
 *
 * After a signaller has dropped the condvar's lock it touches the condvar no
 * more: the threads it releases may free it.
 */
#ifndef DROVER_COND_INTERNAL_H
#define DROVER_COND_INTERNAL_H

#include <limits.h>

#include "cond/plan.h"
#include "base/debug.h"
#include "cond/group.h"
#include "base/lock.h"

/*
 * The states of a mutex's futex word to which waiters can be moved: glibc's and
 * drover_mutex_t's are alike (U. Drepper, "Futexes Are Tricky", section "Mutex,
 * Take 2"). Only in the last one does an unlock wake a sleeper.
 */
enum mutex_word {
	WORD_FREE,
	WORD_LOCKED,
	WORD_CONTENDED,
};

/**
 * struct mutex_ops - what a condvar asks of the mutexes used with it
 * @is_plain: nothing is special about it: @may_wait would say 0, @stays_held
 *	      false, and @pi_word NULL. What it is asked before them.
 * @may_wait: 0, or EPERM if @unlock will refuse the caller. Asked first: once
 *	      it has joined a group, a signal or broadcast can reach it.
 * @stays_held: the caller has locked it more than once, so it sleeps as the
 *		holder: nobody may be moved there, least of all the caller
 * @unlock: release a held mutex; 0 or an errno value
 * @unlock_plain: the same for a plain one that the caller does hold
 * @try_lock: take a mutex that has a @word, if that is free; else false. The
 *	      caller does not hold it.
 * @lock: take the mutex, 0 or an errno value. @moved: the thread may have
 *	  slept on the mutex without the mutex's knowledge, so others may
 *	  still: it has to be left contended.
 * @word: where the mutex's sleepers wait, or NULL if waiters cannot be moved
 *	  there. @mutex is in use by a blocked waiter.
 * @holder: who has the mutex; same condition. A guess if @word is NULL.
 * @set_contended: the caller holds the mutex: make its unlock wake a sleeper
 * @pass_wake: wake one thread that sleeps on the mutex
 * @interruptible: a cancellation is pending and may act on the caller; NULL if
 *		   waits are no cancellation points
 * @pi_word: the lock word if the kernel can hand the mutex over (requeue-PI),
 *	     or NULL
 * @adopt: the kernel has handed the mutex over to the caller: make it look as
 *	   if the caller had locked it. 0 or what @lock would have returned;
 *	   ENOTRECOVERABLE: the mutex is not held.
 */
struct mutex_ops {
	bool (*is_plain)(void *mutex);
	int (*may_wait)(void *mutex);
	bool (*stays_held)(void *mutex);
	int (*unlock)(void *mutex);
	int (*unlock_plain)(void *mutex);
	bool (*try_lock)(void *mutex);
	int (*lock)(void *mutex, bool moved);
	futex_word *(*word)(void *mutex);
	enum mutex_holder (*holder)(void *mutex);
	void (*set_contended)(void *mutex);
	void (*pass_wake)(void *mutex);
	bool (*interruptible)(void);
	futex_word *(*pi_word)(void *mutex);
	int (*adopt)(void *mutex);
};

/* struct cond::flags; set by init only. */
#define COND_SHARED    1u /* used by several processes */
#define COND_MONOTONIC 2u /* deadlines are on CLOCK_MONOTONIC */

/**
 * struct shared_group - the waiters of a process-shared condvar; cond_shared.c
 * @word: what members sleep on; changes with every post and release
 * @number: counts the releases: a member whose number is another one is free
 * @blocked: members that no signal was posted for
 * @tokens: signals posted and not yet taken
 *
 * All but the sleeping itself under the condvar's lock.
 */
struct shared_group {
	futex_word word;
	uint32_t number;
	uint32_t blocked;
	uint32_t tokens;
};

/**
 * struct evidence - what waking threads leads to; cond_policy.c
 * @held: above 0 if threads that were woken mostly found the mutex held
 * @moves: how often threads were moved since they were last woken
 * @certain: how often that was seen to be right
 */
struct evidence {
	_Atomic int8_t held;
	uint8_t moves;
	_Atomic uint8_t certain;
};

/**
 * struct cond - a condition variable; all zero bytes are a valid one
 * @lock: guards all the rest, but for who joins a group that is @open
 * @flags: COND_*; constant
 * @open: the group that arrivals join, or NULL. It may have been recycled:
 *	  only group_pin() says. Read without the lock to see that nobody
 *	  waits.
 * @closed: the older group that signals go to, or NULL; same as @open
 * @life: the process_life in which the members of a private condvar wait
 * @single: whether to wake one thread or to move it the next time
 * @herd: the same for several at once
 * @others: above 0 if others than @last have waited lately
 * @herds: how many broadcasts to several there were since somebody was signalled
 * @stays: whether it pays that those it has released stay awake; [lock]
 * @round_us: how long it takes at least until those are released that sleep, in
 *	      microseconds; 0 if that is not known; [lock]
 * @last: who was the last to wait; a guess, only compared
 * @group: the two groups of a shared condvar
 * @refs: waiters and wakers that will still touch a shared condvar
 * @state: which of @group is open, and more; see cond_shared.c
 */
struct cond {
	futex_word lock;
	uint32_t flags;
	union {
		struct {
			_Atomic(struct group *) open;
			_Atomic(struct group *) closed;
			_Atomic uint32_t life;
			struct evidence single;
			struct evidence herd;
			_Atomic uint8_t others;
			uint8_t herds;
			struct watch stays;
			uint16_t round_us;
			struct waiter *last;
		};
		struct {
			struct shared_group group[2];
			futex_word refs;
			uint32_t state;
		};
	};
};

_Static_assert(sizeof(struct cond) == 48, "fits glibc's pthread_cond_t");

/* The condvar that a caller has passed to the function @call. */
static inline struct cond *cond_checked(void *cond, const char *call)
{
	struct cond *c = cond;

	debug_pointer(c, _Alignof(struct cond), "condition variable", call);
	debug_flags(c, c->flags, COND_SHARED | COND_MONOTONIC,
		    "condition variable", call);
	return c;
}

COLD void cond_drop_ghosts(struct cond *c);

/* In the child of a fork: a thread of the parent's may have been at it. */
void cond_after_fork(void);

/* Take the lock of a private condvar, in the state this process left it. */
static inline void cond_lock(struct cond *c)
{
	/* [CV-LIFE] Pairs with the release in cond_drop_ghosts(). */
	if (unlikely(load_acquire(&c->life) != process_life))
		cond_drop_ghosts(c);
	lock_take(&c->lock, false);
}

static inline void cond_unlock(struct cond *c)
{
	lock_drop(&c->lock, false);
}

/*
 * Does nobody wait on this private condvar? Asked without the lock.
 *
 * Who must be seen has released the user's mutex after joining, and a
 * signaller that has to see it has held that mutex since. Without the mutex
 * there is no order between them, and "not yet waiting" is a valid answer. So
 * this is not a store-buffering pair, and needs no full barrier.
 *
 * [CV-EMPTY] A signaller makes the open group the closed one: it sets @closed
 * and then clears @open, with release; here @open is read first, with acquire.
 * Otherwise both could be seen empty while the group is on its way.
 */
static inline bool cond_nobody_waits(struct cond *c)
{
	return likely(!load_acquire(&c->open)) &&
	       likely(!load_relaxed(&c->closed));
}

/* Is there nothing to do for a signal or broadcast? */
static inline bool cond_is_idle(struct cond *c)
{
	return likely(!(c->flags & COND_SHARED)) &&
	       likely(cond_nobody_waits(c));
}

/*
 * The same for a signal, which the policy wants to hear of. The thread keeps it
 * for itself: the condvar's cache line may be everybody's.
 */
static inline bool cond_signal_is_idle(struct cond *c)
{
	bool idle = cond_is_idle(c);

	if (likely(idle)) {
		thread_this.idle_again = thread_this.idle == c;
		thread_this.idle = c;
	}
	return idle;
}

/* The condvar's verbs; @deadline NULL waits without end. */
void cond_init(struct cond *c, uint32_t flags);
void cond_destroy(struct cond *c, const char *call);
int cond_wait(struct cond *c, struct waiter *w, const struct mutex_ops *ops,
	      void *mutex, const struct deadline *deadline);
void cond_signal(struct cond *c, const struct mutex_ops *ops);
void cond_broadcast(struct cond *c, const struct mutex_ops *ops);

/* The same for shared condvars. */
APART void cond_shared_destroy(struct cond *c);
APART int cond_shared_wait(struct cond *c, const struct mutex_ops *ops,
			   void *mutex, const struct deadline *deadline);
APART void cond_shared_signal(struct cond *c);
APART void cond_shared_broadcast(struct cond *c);
/* @target: the word of @mutex, three states, shared. */
APART void cond_shared_broadcast_on(struct cond *c, const struct mutex_ops *ops,
				    void *mutex, futex_word *target);

/**
 * cond_claim() - pin a group of a locked condvar and claim it
 * @c: the condvar, locked
 * @g: its open or closed group, or NULL
 *
 * Return: @g, or NULL if nobody is blocked in it.
 */
struct group *cond_claim(struct cond *c, struct group *g);

/* The caller is about to release only @released; cond_heir.c */
void heir_note(struct waiter *released);

/* Wake members that sleep for a mutex that inherits priorities; cond_pi.c. */
APART void cond_pi_wake(struct group *g, int nr);

/**
 * cond_plan() - what to do with @nr_waiters members of a claimed group
 * @g: claimed, so the mutex of its members exists
 * @ops: for that mutex
 * @hopeful: see policy_plan()
 */
struct wake_plan cond_plan(struct group *g, const struct mutex_ops *ops,
			   uint32_t nr_waiters, bool hopeful);

/**
 * cond_wake() - wake or move sleepers of a group, as planned
 * @g: pinned
 * @word: its futex word after the release or post; if it has changed again,
 *	  sleepers are woken instead
 * @plan: from cond_plan()
 * @nr: how many at most: 1, or INT_MAX when all are free to go
 *
 * Only the address of the mutex is used here: if a sleeper is left it will
 * lock that mutex, so it exists, and if none is, nothing moves.
 */
void cond_wake(struct group *g, uint32_t word, struct wake_plan plan, int nr);

/**
 * cond_release_by() - release a whole group by @plan
 * @g: pinned and claimed, and no longer reachable from its condvar; unpinned
 * @plan: from cond_plan()
 */
void cond_release_by(struct group *g, struct wake_plan plan);

static inline void cond_release(struct group *g, const struct mutex_ops *ops,
				bool hopeful)
{
	uint32_t nr = group_blocked(g);
	struct wake_plan plan = cond_plan(g, ops, nr, hopeful);

	if (nr == 1)
		heir_note(g->first);
	cond_release_by(g, plan);
}

#endif /* DROVER_COND_INTERNAL_H */
