/* SPDX-License-Identifier: MIT */
/*
 * A group: threads that wait on one condition variable of this process and
 * are interchangeable to a signal, because all came before it.
 *
 * Members sleep on the group's own futex word, not on one in the condvar. All
 * groups lie in memory that is never given back, so whoever was released has
 * no further business with the condvar: it may be destroyed and unmapped
 * while members still sleep on the mutex they were moved to. And a group is
 * not used again before everybody has left it, so one requeue on its word
 * moves exactly its members, without any lock held.
 *
 * The state is one 64-bit word, and the low half is the futex word:
 *
 *   bit  0	GROUP_RELEASED	every member still here may return. Final.
 *   bit  1	GROUP_MOVED	members may have been moved to the mutex: who
 *				leaves must keep the mutex contended. Never
 *				cleared.
 *   bit  2	GROUP_CLAIMED	a signaller is choosing how to release: nobody
 *				may time out meanwhile, which keeps the mutex
 *				of the members alive. Set under the condvar's
 *				lock and the group's @claim, which the claimer
 *				keeps until the release or post. Who wants to
 *				leave waits for that lock, and so lends the
 *				claimer its priority.
 *   bit  3	GROUP_AWAKE	nobody sleeps on the word: its only member looks
 *				at it. Once cleared, it stays so.
 *   bits 4-25	tokens		signals that were posted and not yet taken
 *   bits 26-31	kicks		changed to make members look up; wraps
 *   bits 32-63	blocked		members that no signal was posted for
 *
 * Legal transitions, each one atomic step:
 *
 *   join	blocked + 1; - AWAKE	under the condvar's lock, in two steps
 *   join	blocked + 1, if blocked > 0, no CLAIMED, AWAKE, tokens;
 *							with the members' mutex
 *   fall asleep	- AWAKE		by the member
 *   claim	+ CLAIMED, if blocked > 0	under the condvar's lock
 *   post	- CLAIMED, blocked - 1, tokens + 1 (+ MOVED)
 *							by the claimer
 *   release	- CLAIMED, blocked = 0, tokens = 0, + RELEASED (+ MOVED)
 *							by the claimer
 *   take	tokens - 1		by a member
 *   time out	blocked - 1, if not RELEASED, no CLAIMED, no tokens
 *							by a member
 *
 * A member sleeps only while the word has neither RELEASED nor tokens; each
 * post and release changes the word before it wakes or moves, so the kernel's
 * value check closes the race with falling asleep.
 *
 * Bounds: 2^22 tokens (the kernel has no more threads); a kick is missed by a
 * member that is delayed between its load of the word and its futex call while
 * an exact multiple of 64 kicks hits its group: it is then noticed at the
 * next event of the group.
 */
#ifndef DROVER_GROUP_H
#define DROVER_GROUP_H

#include "base/atomic.h"
#include "base/futex.h"
#include "cond/waiter.h"

struct cond;

#define GROUP_RELEASED (UINT64_C(1) << 0)
#define GROUP_MOVED    (UINT64_C(1) << 1)
#define GROUP_CLAIMED  (UINT64_C(1) << 2)
#define GROUP_AWAKE    (UINT64_C(1) << 3)
#define GROUP_TOKEN    (UINT64_C(1) << 4)
#define GROUP_TOKENS   (((UINT64_C(1) << 22) - 1) * GROUP_TOKEN)
#define GROUP_KICK     (UINT64_C(1) << 26)
#define GROUP_KICKS    (UINT64_C(63) * GROUP_KICK)
#define GROUP_BLOCKED  (UINT64_C(1) << 32)

#define group_nr_blocked(state) ((uint32_t)((state) >> 32))
#define group_nr_tokens(state)	((uint32_t)((state)&GROUP_TOKENS) / GROUP_TOKEN)

/*
 * What a thread that is woken in the hope of a free mutex learns for: it looks
 * at a held one for a while, and tells what came of that (policy_learn()).
 */
enum lesson {
	LESSON_NONE,
	LESSON_SINGLE,
	LESSON_HERD,
};

/**
 * struct group - one group of waiters
 * @state: see above
 * @claim: a lock of lock.h, which the claimer has
 * @refs: members, and signallers that are at work on it; whoever drops the
 *	  last one recycles the group
 * @owner: the condvar it belongs to; NULL when recycled. Changes only while
 *	   @refs is 0.
 * @mutex: the mutex that all members use, or NULL if they use several or one
 *	   of them sleeps as its holder; written under the condvar's lock
 * @pi_target: where members sleep for requeue-PI, the word of their mutex; or
 *	       NULL, when they sleep as plain waiters. Constant while in use.
 * @lesson: an enum lesson: what who is out shall tell, and look out for. This
 *	    and @ahead are written by the claimer, and for the policy only.
 * @ahead: how many the first one that was moved shall wake more; or AHEAD_ALL
 * @stays: members give way before they sleep, and others may then have the CPU for
 *	   so many microseconds; 0: they sleep at once. Constant while in use.
 * @relays: a signal that finds another one on its way wakes nobody [G-RELAY].
 *	    Constant while in use.
 * @herd: an enum herd_state: what becomes of them; written by the claimer
 * @slept: how many have
 * @first: who started it, and is its only member as a rule: a guess
 * @next: the next spare group; [spare list's lock]
 * @began: when it was started, in nanoseconds; 0 if nobody wants to know. Of a
 *	   group in use; [owner's lock]
 */
struct group {
	_Atomic uint64_t state;
	futex_word claim;
	_Atomic uint32_t refs;
	_Atomic(struct cond *) owner;
	_Atomic(void *) mutex;
	_Atomic(futex_word *) pi_target;
	_Atomic uint8_t lesson;
	_Atomic uint8_t ahead;
	_Atomic uint8_t herd;
	_Atomic bool relays;
	_Atomic uint16_t stays;
	_Atomic uint16_t slept;
	struct waiter *first;
	union {
		struct group *next;
		int64_t began;
	};
} __attribute__((aligned(64)));

/* How many members no signal was posted for; constant while claimed. */
static inline uint32_t group_blocked(struct group *g)
{
	return group_nr_blocked(load_relaxed(&g->state));
}

/* Is a signal on its way to a member, who sends on those that come meanwhile? */
static inline bool group_has_relay(struct group *g)
{
	return load_relaxed(&g->relays) &&
	       load_relaxed(&g->state) & GROUP_TOKENS;
}

/*
 * [G-RELAY] While such a group has tokens, a member is on its way to one, or a
 * wake-up to a member: each post to a group without tokens wakes one, and so does
 * each member that has taken a token and then sees others left.
 */
static inline bool group_is_on_its_way(struct group *g, uint32_t posted)
{
	return load_relaxed(&g->relays) &&
	       (posted & GROUP_TOKENS) > GROUP_TOKEN;
}

/* The half of the state that members sleep on. */
static inline futex_word *group_word(struct group *g)
{
	return (futex_word *)&g->state +
	       (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

/**
 * group_new() - a group with one member, the caller, that owns a reference
 * @c: the condvar, locked
 * @w: the caller
 * @mutex: the member's mutex, or NULL if nobody may be moved there
 * @pi_target: NULL, or the mutex's word if members sleep for requeue-PI
 * @awake: 0, or GROUP_AWAKE if the caller will look before it sleeps
 *
 * Return: the group, or NULL without memory.
 */
struct group *group_new(struct cond *c, struct waiter *w, void *mutex,
			futex_word *pi_target, uint64_t awake);

/**
 * group_pin() - take a reference, if the group still belongs to a condvar
 * @g: a group that @c points to, perhaps only since before it was recycled
 * @c: the condvar, locked, so that no recycled group comes to it meanwhile
 */
bool group_pin(struct group *g, struct cond *c);

/* Drop a reference; the group may be someone else's at once. */
void group_unpin(struct group *g);

/* Become a member, with the reference that the caller has pinned. */
void group_join(struct group *g, void *mutex);

/**
 * group_join_open() - become a member without the condvar's lock
 * @g: a group that the condvar named as its open one, pinned since
 * @mutex: the caller's, held
 *
 * It may not be the open one any more. As long as there are members that no
 * signal was posted for, signals still find it, and as long as no signal is on
 * its way to one of them, the caller cannot take one that was sent before it
 * came.
 *
 * Return: false if that is not so, or the members' mutex is another one, or
 * somebody looks for a signal awake.
 */
bool group_join_open(struct group *g, const void *mutex);

/**
 * group_claim() - begin to release some of the members
 * @g: a pinned group of a locked condvar
 *
 * Return: false if no member is blocked. Otherwise none can leave before
 * group_post() or group_release(), which has to follow.
 */
bool group_claim(struct group *g);

/**
 * group_post() - post one token
 * @g: the group
 * @moved: 0 or GROUP_MOVED
 *
 * Return: the new futex word.
 */
uint32_t group_post(struct group *g, uint64_t moved);

/*
 * Release all members. @moved: 0 or GROUP_MOVED. Return: the new futex word, with
 * GROUP_AWAKE is in it if nobody sleeps there.
 */
uint32_t group_release(struct group *g, uint64_t moved);

/* The only member is about to sleep, or a second one joins. */
static inline void group_fall_asleep(struct group *g)
{
	if (load_relaxed(&g->state) & GROUP_AWAKE)
		and_relaxed(&g->state, ~GROUP_AWAKE);
}

/* Wake one of those for whom there are tokens [G-RELAY]. */
static inline void group_wake_next(struct group *g)
{
	futex_wake(group_word(g), 1, false);
}

/* Make every member look up that sleeps with one of @bits. */
COLD void group_kick(struct group *g, uint32_t bits);

/**
 * group_take() - be out, if that was posted or released
 * @g: the group
 * @state: the state last seen; updated
 *
 * Return: false if nothing was there for this member.
 */
bool group_take(struct group *g, uint64_t *state);

/**
 * group_leave() - stop being a member, unless unblocked
 * @g: the group
 *
 * Blocks while it is claimed.
 *
 * Return: true if the caller has left; false if it is out, released or by a
 * token, as after group_take().
 */
APART bool group_leave(struct group *g);

/* Give back the spare groups of a thread that ends. */
void group_drop_spares(struct waiter *w);

/* In the child of a fork: forget the spare list, it may be half changed. */
void group_after_fork(void);

#endif /* DROVER_GROUP_H */
