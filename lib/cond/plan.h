/* SPDX-License-Identifier: MIT */
/*
 * What the condition variable asks its policy, and tells it: cond_policy.c, and
 * cond_refused.c for what the kernel refuses.
 */
#ifndef DROVER_COND_PLAN_H
#define DROVER_COND_PLAN_H

#include <limits.h>

#include "cond/group.h"

/* How the caller finds a mutex. */
enum mutex_holder {
	MUTEX_FREE,
	MUTEX_HELD_BY_CALLER,
	MUTEX_HELD_BY_OTHER,
};

/**
 * struct wake_plan - what a release or post does with the sleepers
 * @nr_wake: how many to wake (INT_MAX: all)
 * @move: move the rest to the mutex
 * @lesson: what those that are out shall tell, and look out for
 * @ahead: how many the first one that was moved shall wake more; or AHEAD_ALL
 * @target: the futex word to move to; set by the caller of policy_plan()
 */
struct wake_plan {
	int nr_wake;
	bool move;
	enum lesson lesson;
	uint8_t ahead;
	futex_word *target;
};

/* Not a number: all of them. */
#define AHEAD_ALL 255

#define PLAN_WAKE_ALL ((struct wake_plan){ .nr_wake = INT_MAX })

/**
 * enum herd_state - how a broadcast finds several
 * @HERD_SLEEPS: asleep
 * @HERD_GATHERS: asleep, but for the last time: from now on they shall stay awake
 * @HERD_AWAKE: awake, most of them
 */
enum herd_state {
	HERD_SLEEPS,
	HERD_GATHERS,
	HERD_AWAKE,
};

/**
 * policy_plan() - decide whether to wake or to move; cond_policy.c
 * @holder: who has the mutex
 * @movable: whether the waiters could be moved at all
 * @nr_waiters: how many are to be unblocked
 * @hopeful: what policy_hopeful() said
 */
struct wake_plan policy_plan(enum mutex_holder holder, bool movable,
			     uint32_t nr_waiters, bool hopeful);

/* The same for a herd that gathers: one wakes the others, and not the caller. */
struct wake_plan policy_gather(enum mutex_holder holder, bool movable);

/**
 * policy_hopeful() - are threads that are woken now likely to get the mutex soon?
 * @c: locked
 * @nr_waiters: how many are to be unblocked
 */
bool policy_hopeful(struct cond *c, uint32_t nr_waiters);

/*
 * How often to look at a held mutex before the sleep; 0: not at all. Asked once
 * for each: policy_looked() has to follow if it is not 0.
 */
unsigned int policy_looks(void);

/* For how many nanoseconds each time; others may have the CPU after each. */
int64_t policy_look(void);

/* For how many nanoseconds others may have it, for that to have gone well. */
int64_t policy_longest_absence(void);

/*
 * May the thread let others have the CPU? policy_gave_way() has to follow if so:
 * was it back soon?
 */
bool policy_gives_way(void);
void policy_gave_way(bool soon);

/* Did it become free? */
void policy_looked(bool got);

/* A thread waits for the first time. */
void policy_watch_anew(struct waiter *w);

/*
 * For how many nanoseconds to look for a signal before the sleep; 0: not;
 * WATCH_ONCE: after others have had the CPU once; WATCH_HERD: they may have it all
 * the time, and policy_await() says for how long if they do not want it. @alone:
 * nobody else has waited there lately.
 */
#define WATCH_ONCE INT64_MAX
#define WATCH_HERD (INT64_MAX - 1)

static inline bool watch_gives_way(int64_t watch)
{
	return watch >= WATCH_HERD;
}

int64_t policy_watch(struct waiter *w, const struct cond *c, bool alone);

/*
 * It came after @ns nanoseconds; INT64_MAX: not. @watch: what policy_watch() had
 * said; if the thread gave way then @ns is 0, if it came at all. @c: an address
 * only.
 */
void policy_watched(struct waiter *w, const struct cond *c, int64_t watch,
		    int64_t ns);

/* For how many nanoseconds nobody may want the CPU, until it sleeps. */
int64_t policy_await(void);

/* It was given away for @ns nanoseconds: how many of them are such? */
int64_t policy_alone(int64_t ns);

/* Shall each of a herd that begins to wait on @c, locked, give way before it sleeps? */
bool policy_stays(const struct cond *c);

/* @g, which may become one, begins: note that, and when. */
void policy_begins(const struct cond *c, struct group *g);

/* How often at most, until it is called? */
int policy_stays_for(void);

/*
 * A broadcast to @nr on @c, locked: those of @g, claimed, may have done so. Return:
 * what becomes of them; whether the next herd stays says policy_stays().
 */
enum herd_state policy_stayed(struct cond *c, struct group *g, uint32_t nr);

/*
 * Shall a signal that finds another one of the same group on its way be left to who
 * takes that? Asked when the group begins.
 */
bool policy_relays(void);

/* Shall who takes one, with @nr more to be taken, give way before it wakes the next? */
bool policy_relay_waits(uint32_t nr);

/* Shall the waiter @w be called before its signal comes? cond_heir.c */
bool policy_calls(struct waiter *w);

/* For how many nanoseconds it then looks for that. */
int64_t policy_call(void);

/* Did it come? */
void policy_called(struct waiter *w, bool came);

/*
 * A release found the only waiter of @c, an address only, looking for it, or
 * others, or asleep.
 */
void policy_met(const struct cond *c, bool awake);

/**
 * policy_learn_batch() - the signaller has signalled nobody since the last time
 * @c: locked
 * @large: and not the time before, either
 */
void policy_learn_batch(struct cond *c, bool large);

/* Would policy_learn() learn nothing new from that? @c: not locked. */
bool policy_knows(const struct cond *c, enum lesson lesson, bool found_held);

/**
 * policy_learn() - what came of waking a thread
 * @c: locked
 * @lesson: LESSON_SINGLE or LESSON_HERD
 * @found_held: the thread found the mutex held
 */
void policy_learn(struct cond *c, enum lesson lesson, bool found_held);

/* Is there a policy under which waiters are moved? */
bool policy_may_move(void);

/* May priority-inheriting mutexes be requeued to? Tried once; cond_refused.c. */
bool policy_requeue_pi(void);
/* A sandbox has come that refuses it. */
void policy_requeue_pi_refused(void);

/* Requeue has answered ENOSYS or EPERM: it is not asked again. */
COLD void policy_requeue_refused(void);
bool policy_requeue_is_refused(void);

#endif /* DROVER_COND_PLAN_H */
