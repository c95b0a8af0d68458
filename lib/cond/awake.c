// SPDX-License-Identifier: MIT
/*
 * A waiter that stays awake: it looks for its signal before it sleeps, and for
 * the mutex after it was woken. How long is for the policy to say.
 */
#include <limits.h>
#include <sched.h>

#include "base/clock.h"
#include "cond/member.h"
#include "base/look.h"

/* Enough for any look. */
#define LONG_S 1000

/* Nanoseconds; any large number if there is no deadline near. */
static int64_t time_left(const struct deadline *deadline)
{
	struct timespec now;

	if (!deadline)
		return INT64_MAX;
	clock_gettime(deadline->clock, &now);
	if (deadline->at.tv_sec < now.tv_sec)
		return 0;
	if (deadline->at.tv_sec - now.tv_sec > LONG_S)
		return INT64_MAX;
	return (deadline->at.tv_sec - now.tv_sec) * NS_PER_S +
	       deadline->at.tv_nsec - now.tv_nsec;
}

/* Is the group's word another one than @word, but for a signaller that chooses? */
static inline bool member_sees_news(const struct member *m, uint32_t word)
{
	return (load_relaxed(group_word(m->g)) ^ word) &
	       ~(uint32_t)GROUP_CLAIMED;
}

/* The same for a while. */
static inline bool member_watches(const struct member *m, uint32_t word)
{
	for (int i = 0; i < LOOKS_PER_CLOCK; i++) {
		if (member_sees_news(m, word))
			return true;
		cpu_relax();
	}
	return false;
}

/* @ns: for how long. Return: after how many nanoseconds it came, if it did. */
static int64_t member_look_out(const struct member *m, int64_t ns)
{
	int64_t begin = 0, now = 0;

	while (now <= begin + ns && !member_watches(m, GROUP_AWAKE)) {
		now = clock_now();
		if (!begin)
			begin = now;
	}
	return now - begin;
}

/*
 * With one CPU there is no signal before somebody else runs, nor where others have
 * to go first; who lets them looks again after that. @ns: until it has been alone
 * for so long. Return: 0, or INT64_MAX if one of them took longer than @longest.
 */
static int64_t member_look_up(const struct member *m, int64_t ns, int64_t left,
			      int64_t longest)
{
	int64_t now = clock_now(), before;

	do {
		before = now;
		if (left < longest || !give_way(&now, longest))
			return INT64_MAX;
		left -= now - before;
		ns -= policy_alone(now - before);
	} while (ns > 0 && !member_watches(m, GROUP_AWAKE));
	return 0;
}

/*
 * Look for a signal before the sleep. A second member ends that, and so does a
 * kick: what they want is found out by member_sleep().
 */
void member_watch(struct member *m, const struct cond *c,
		  const struct deadline *deadline)
{
	int64_t left = time_left(deadline), longest = policy_longest_absence();

	if (m->watch_ns == WATCH_ONCE)
		m->caught_ns = member_look_up(m, 0, left, longest);
	else if (m->watch_ns == WATCH_HERD)
		m->caught_ns = member_look_up(m, policy_await(), left, longest);
	else
		m->caught_ns = member_look_out(
			m, left < m->watch_ns ? left : m->watch_ns);
	m->caught = load_relaxed(&m->g->state) & GROUP_RELEASED;
	if (m->caught)
		return;
	group_fall_asleep(m->g);
	policy_watched(m->w, c, m->watch_ns, INT64_MAX);
}

/* Whether all this was in vain is for the next broadcaster to find out. */
void member_stay(const struct member *m, const struct deadline *deadline)
{
	int64_t longest = load_relaxed(&m->g->stays) * NS_PER_US;

	for (int i = policy_stays_for(); i; i--) {
		if (member_look_up(m, 0, time_left(deadline), longest) ==
		    INT64_MAX)
			break;
		if (load_relaxed(&m->g->state) & GROUP_RELEASED)
			return;
	}
	add_relaxed(&m->g->slept, 1);
}

void member_relay(const struct member *m)
{
	uint32_t nr = group_nr_tokens(load_relaxed(&m->g->state));
	int64_t now;

	if (policy_relay_waits(nr)) {
		now = clock_now();
		give_way(&now, policy_longest_absence());
	}
	if (group_has_relay(m->g))
		group_wake_next(m->g);
}

/*
 * The one before us may have no CPU but ours, or nobody may need us yet: so
 * others go first. To sleep is not to answer any more, so that is said before.
 */
void member_answer(struct member *m, uint32_t word,
		   const struct deadline *deadline)
{
	int64_t left = time_left(deadline), ns = policy_call(), end;

	end = clock_now() + (left < ns ? left : ns);
	store_relaxed(&m->w->call, CALL_HEARD);
	while (!member_watches(m, word) && clock_now() < end)
		sched_yield();
	m->called = member_sees_news(m, word);
	store_relaxed(&m->w->call, CALL_NONE);
	policy_called(m->w, m->called);
}

/*
 * The first of those that were moved is awake alone: each of the others will be
 * woken by the unlock of the one before it, and meanwhile CPUs go idle and come
 * back. A few more that are on their way keep them busy. Not with the mutex held:
 * to wake them takes as long as their turns.
 *
 * So that is for the first one to do; or for the broadcaster, if it waits itself
 * before that one is up: its CPU goes idle, too. But a herd that gathers is for the
 * first one.
 */
void herd_wake_ahead(struct group *g, const struct mutex_ops *ops, void *mutex)
{
	futex_word *word = ops->word(mutex);
	int nr;

	/* It may be another's by now, but then not with this mutex. */
	if (!word || load_relaxed(&g->mutex) != mutex)
		return;
	nr = swap_relaxed(&g->ahead, 0);
	if (nr)
		futex_wake(word, nr == AHEAD_ALL ? INT_MAX : nr, false);
}

/* Get a mutex that is free, or will be soon. */
static bool member_look(const struct member *m, bool moved)
{
	futex_word *word = m->ops->word(m->mutex);

	/* One that has stayed ours never becomes free. */
	if (!word || !m->movable ||
	    !look_for_mutex(word, m->ops->try_lock, m->mutex))
		return false;
	if (moved)
		m->ops->set_contended(m->mutex);
	return true;
}

bool member_hope(const struct member *m, const struct cond *c,
		 enum lesson lesson, bool moved)
{
	const struct mutex_ops *ops = m->ops;
	bool held, got;

	if (moved && load_relaxed(&m->g->ahead) &&
	    ops->holder(m->mutex) != MUTEX_HELD_BY_OTHER)
		herd_wake_ahead(m->g, ops, m->mutex);
	held = lesson == LESSON_SINGLE &&
	       ops->holder(m->mutex) == MUTEX_HELD_BY_OTHER;
	got = member_look(m, moved);
	if (lesson == LESSON_HERD)
		held = !got && ops->holder(m->mutex) == MUTEX_HELD_BY_OTHER;
	member_found(m, c, lesson, held);
	return got;
}

/*
 * The signal came before the sleep. Who sent it may have the mutex still; to look
 * at that in vain is as bad as to look for the signal in vain.
 */
bool member_hurry(const struct member *m, const struct cond *c, bool moved)
{
	bool got = member_look(m, moved);

	if (m->caught)
		policy_watched(m->w, c, m->watch_ns,
			       got || !m->ops->word(m->mutex) ? m->caught_ns :
								INT64_MAX);
	return got;
}
