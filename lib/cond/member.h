/* SPDX-License-Identifier: MIT */
/*
 * A thread that waits on a condition variable of this process, from joining a
 * group until it has the mutex again.
 */
#ifndef DROVER_COND_MEMBER_H
#define DROVER_COND_MEMBER_H

#include "cond/cond.h"

/**
 * struct member - a thread that waits in a group
 * @g: its group, pinned
 * @w: the thread
 * @ops: for its mutex
 * @mutex: the mutex it released and will lock again
 * @movable: the same, or NULL if nobody may be moved there
 * @watch_ns: how long it looks for its signal before it sleeps
 * @caught: it came before the sleep
 * @called: it came while the thread looked for it because it was called
 * @caught_ns: after so long
 * @owns: it has the mutex already, by requeue-PI
 * @lock_err: what locking that way answered
 */
struct member {
	struct group *g;
	struct waiter *w;
	const struct mutex_ops *ops;
	void *mutex;
	void *movable;
	int64_t watch_ns;
	int64_t caught_ns;
	bool caught;
	bool called;
	bool owns;
	int lock_err;
};

/**
 * member_sleep() - wait as a member until unblocked; cond_sleep.c
 * @m: the member
 * @deadline: NULL to wait without end
 * @pi_target: the group's
 *
 * Return: 0 when unblocked; ETIMEDOUT or ECANCELED when not, and then no longer
 * a member of the group. The reference stays.
 */
int member_sleep(struct member *m, const struct deadline *deadline,
		 futex_word *pi_target);

/**
 * member_watch() - look for a signal before the sleep; cond_awake.c
 * @m: the only member of a group that is GROUP_AWAKE; @watch_ns says how long.
 *     Afterwards @caught says whether it is out, and the group is not awake
 *     any more if it is not.
 * @c: an address only
 * @deadline: ends the look, too
 */
APART void member_watch(struct member *m, const struct cond *c,
			const struct deadline *deadline);

/**
 * member_stay() - let the others of a herd go first, and then whoever calls it
 * @m: a member of a group that @stays
 * @deadline: if that is near there is no time for it
 */
APART void member_stay(const struct member *m, const struct deadline *deadline);

/**
 * member_answer() - look for a signal because another thread has called
 * @m: a member that would sleep; @called says if there was one
 * @word: the group's word as last seen
 * @deadline: ends the look, too
 */
APART void member_answer(struct member *m, uint32_t word,
			 const struct deadline *deadline);

/**
 * member_hurry() - look for the mutex after either, which a signaller may still have
 * @m: the member, caught or called
 * @c: an address only
 * @moved: the group's GROUP_MOVED
 *
 * Return: whether it has the mutex.
 */
APART bool member_hurry(const struct member *m, const struct cond *c,
			bool moved);

/*
 * [G-RELAY] Others are to come out, too: wake the next of them. If they are few, let
 * all run first that are on their way.
 */
APART void member_relay(const struct member *m);

/*
 * Note what a member that was woken will tell, @held: it was too early. @lesson:
 * what for.
 */
static inline void member_found(const struct member *m, const struct cond *c,
				enum lesson lesson, bool held)
{
	if (lesson == LESSON_NONE)
		return;
	m->w->woken_by = c;
	m->w->lesson = lesson;
	m->w->found_held = held;
}

/**
 * member_hope() - get the mutex in the hope that it is free or will be soon
 * @m: a member that was woken
 * @c: an address only; it is told what came of that
 * @lesson: what for
 * @moved: the group's GROUP_MOVED
 *
 * Return: whether it has the mutex.
 */
APART bool member_hope(const struct member *m, const struct cond *c,
		       enum lesson lesson, bool moved);

/*
 * Wake those of the group @g that shall be awake at once, if that has not been
 * done and @mutex, which is to be used by the caller, is theirs.
 */
APART void herd_wake_ahead(struct group *g, const struct mutex_ops *ops,
			   void *mutex);

/* The caller, who has released somebody, is about to wait: get the next one up. */
APART void heir_call(const struct waiter *self);

/* The sleep for a mutex that inherits priorities; cond_pi.c. */
APART long member_pi_wait(struct member *m, uint32_t word,
			  const struct deadline *deadline);

#endif /* DROVER_COND_MEMBER_H */
