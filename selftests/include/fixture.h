/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fixture.h - threads that wait on one condvar, and where they sleep
 */
#pragma once

#include <linux/futex.h>

#include "api.h"
#include "blocked.h"
#include "words.h"

/*
 * The place where a thread sleeps that waits on a condvar or its mutex
 *
 * The kernel shows the call by which a thread fell asleep, even after a
 * requeue. So a waiter that was woken and went to sleep on the mutex is
 * AT_MUTEX, and a waiter that was moved there is AT_COND as before. A thread
 * that sleeps in FUTEX_LOCK_PI elsewhere wants a lock inside the library for a
 * moment, and a thread in FUTEX_WAIT wants a lock inside a sanitizer. Only
 * glibc's own condvars before 2.34 wait by FUTEX_WAIT, see places_of_glibc.
 *
 * Known gap: a thread that sleeps for a lock of the library without priority
 * inheritance is in FUTEX_WAIT_BITSET, too, and is taken for AT_COND until it
 * goes on.
 */

enum place {
	RETURNED, /* place_of() cannot know this */
	AT_COND,  /* asleep since it began to wait, moved or not */
	AT_MUTEX, /* was awake, and sleeps at the mutex */
	AWAKE,	  /* not asleep, or only for a moment */
};

static bool places_of_glibc;

static inline enum place place_of(pid_t pid, pid_t tid, const void *mutex)
{
	struct blocked_call call;

	if (blocked_in(pid, tid, &call) != 1)
		return AWAKE;
	if (call.address == (uintptr_t)mutex)
		return AT_MUTEX;
	switch (call.op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
		return AT_COND;
	default:
		return places_of_glibc ? AT_COND : AWAKE;
	}
}

/* place_settled - wait until the thread sleeps in its wait */
static inline void place_settled(pid_t pid, pid_t tid, const void *mutex)
{
	wait_until(place_of(pid, tid, mutex) == AT_COND,
		   "thread %d never sleeps in its wait", tid);
}

/*
 * Threads that wait on a condvar, each once, without a predicate
 *
 *	struct fixture fixture = fixture_of(&cond, &mutex, 8);
 *
 *	fixture_add(&fixture, 8);		// all asleep when this returns
 *	api_cond_signal(&cond);
 *	fixture_gone(&fixture, 1);		// one has returned and unlocked
 *	tap_is(fixture_count(&fixture, AT_COND), 7, "the others still wait");
 */

struct member {
	struct fixture *fixture;
	pthread_t thread;
	atomic_int tid; /* 0 until the thread runs */

	/* How to wait; written before the thread starts. */
	api_cond_t *cond;
	api_mutex_t *mutex;
	const struct timespec *deadline; /* NULL: none */
	clockid_t clock;
	/* To be called instead of the API's wait; or NULL. */
	int (*wait)(api_cond_t *cond, api_mutex_t *mutex);
	/* To be called after the wait, with the mutex held; or NULL. */
	void (*then)(struct member *member);

	/* Set with the mutex held, just before the wait. */
	atomic_bool waiting;
	/* Written before turn. */
	int result;
	atomic_int turn; /* how many returned before it; -1: it still waits */
};

struct fixture {
	api_cond_t *cond;
	api_mutex_t *mutex;
	struct member *members;
	int nr;
	int max;
	atomic_int nr_returned; /* counted with the mutex held */
	atomic_int nr_gone;	/* counted after the mutex was unlocked */
	/* While this is set, members that return keep the mutex. A futex. */
	_Atomic uint32_t keep;
};

/* The fixture whose members are named in a report, or NULL. */
static struct fixture *fixture_shown;

static void fixture_name(pid_t tid, char *text, size_t size)
{
	for (int i = 0; fixture_shown && i < fixture_shown->nr; i++)
		if (fixture_shown->members[i].tid == tid)
			snprintf(text, size, " (member %d)", i);
}

__attribute__((constructor)) static void fixture_names(void)
{
	stuck.name = fixture_name;
}

static inline struct fixture fixture_of(api_cond_t *cond, api_mutex_t *mutex,
					int max)
{
	struct fixture fixture = {
		.cond = cond,
		.mutex = mutex,
		.members = calloc(max, sizeof(*fixture.members)),
		.max = max,
	};

	if (!fixture.members)
		tap_bail("no memory for %d waiters", max);
	return fixture;
}

/* errno_kept - the result of @call, which must leave errno alone */
#define errno_kept(call) (errno = 4711, errno_kept_by(call, #call))

static inline int errno_kept_by(int answer, const char *call)
{
#ifndef DROVER_FAKE_FUTEX /* the fake layer may change errno */
	if (errno != 4711)
		tap_bail("errno %d after %s", errno, call);
#endif
	return answer;
}

static inline void *member_thread(void *arg)
{
	struct member *member = arg;
	struct fixture *fixture = member->fixture;
	api_cond_t *cond = member->cond;
	api_mutex_t *mutex = member->mutex;

	member->tid = blocked_gettid();
	api_mutex_lock(mutex);
	member->waiting = true;
	if (member->wait)
		member->result = member->wait(cond, mutex);
	else if (!member->deadline)
		member->result = errno_kept(api_cond_wait(cond, mutex));
	else
		member->result = errno_kept(api_cond_clockwait(
			cond, mutex, member->clock, member->deadline));
	if (member->then)
		member->then(member);
	member->turn = atomic_fetch_add(&fixture->nr_returned, 1);
	while (fixture->keep)
		sys_futex_wait(&fixture->keep, FUTEX_PRIVATE_FLAG, true, NULL);
	/* A mutex that no thread can have any more is not locked. */
	if (member->result != ENOTRECOVERABLE)
		api_mutex_unlock(mutex);
	fixture->nr_gone++;
	return NULL;
}

/*
 * fixture_start - start one more member, which may not sleep yet
 * @how: its wait, deadline, clock and then are used; and its cond and mutex, if
 *	 set, instead of the fixture's; NULL: a wait without a deadline
 */
static inline struct member *fixture_start(struct fixture *fixture,
					   const struct member *how)
{
	struct member *member = &fixture->members[fixture->nr];

	if (fixture->nr == fixture->max)
		tap_bail("more than %d waiters in this fixture", fixture->max);
	fixture->nr++;
	if (how)
		*member = *how;
	member->fixture = fixture;
	member->cond = member->cond ? member->cond : fixture->cond;
	member->mutex = member->mutex ? member->mutex : fixture->mutex;
	atomic_init(&member->turn, -1);
	words_of(member->cond, member->mutex);
	fixture_shown = fixture;
	start_thread(&member->thread, member_thread, member);
	return member;
}

/*
 * member_has_joined - wait until the others count @member as a waiter
 *
 * The member held the mutex when it set @waiting. So when the caller gets the
 * mutex, the member has released it in its wait. The caller must not hold it.
 */
static inline void member_has_joined(struct member *member)
{
	wait_until(member->waiting, "a waiter never waited");
	api_mutex_lock(member->mutex);
	api_mutex_unlock(member->mutex);
}

static inline enum place member_place(struct member *member)
{
	if (member->turn >= 0)
		return RETURNED;
	return place_of(getpid(), member->tid, member->mutex);
}

/* member_asleep - wait until @member sleeps in its wait */
static inline void member_asleep(struct member *member)
{
	member_has_joined(member);
	place_settled(getpid(), member->tid, member->mutex);
}

/* fixture_add - start @nr more members, which sleep then, in no known order */
static inline void fixture_add(struct fixture *fixture, int nr)
{
	struct member *first = &fixture->members[fixture->nr];

	for (int i = 0; i < nr; i++)
		fixture_start(fixture, NULL);
	for (int i = 0; i < nr; i++)
		member_asleep(&first[i]);
}

/* fixture_gone - wait until @nr members have returned and unlocked the mutex */
static inline void fixture_gone(struct fixture *fixture, int nr)
{
	reached(&fixture->nr_gone, nr);
}

/* A member that has returned and not yet unlocked may wake another one soon. */
static inline bool fixture_any_awake(struct fixture *fixture)
{
	if (!fixture->keep && fixture->nr_gone < fixture->nr_returned)
		return true;
	for (int i = 0; i < fixture->nr; i++)
		if (member_place(&fixture->members[i]) == AWAKE)
			return true;
	return false;
}

/*
 * fixture_count - how many members are at @place once none is awake
 *
 * The kernel makes a thread runnable before the call that wakes it returns, so
 * a woken thread is not taken for asleep. But a member that was seen asleep may
 * be woken by the member that is looked at next, which by then has returned or
 * sleeps. So all members are looked at twice.
 */
static inline int fixture_count(struct fixture *fixture, enum place place)
{
	int64_t deadline = blocked_deadline();
	int count = 0, nr_sweeps = 0, returned = -1;

	while (nr_sweeps < 2 || returned != fixture->nr_returned) {
		returned = fixture->nr_returned;
		nr_sweeps++;
		if (!fixture_any_awake(fixture))
			continue;
		nr_sweeps = 0;
		/* Only after a sweep that found a member awake. */
		if (wait_in_vain(deadline))
			tap_bail("a waiter neither returns nor sleeps");
		sched_yield();
	}
	for (int i = 0; i < fixture->nr; i++)
		count += member_place(&fixture->members[i]) == place;
	return count;
}

/* fixture_results - how many members returned @result */
static inline int fixture_results(struct fixture *fixture, int result)
{
	int count = 0;

	for (int i = 0; i < fixture->nr; i++)
		if (fixture->members[i].turn >= 0 &&
		    fixture->members[i].result == result)
			count++;
	return count;
}

static inline void fixture_let_go(struct fixture *fixture)
{
	fixture->keep = false;
	sys_futex_wake(&fixture->keep, FUTEX_PRIVATE_FLAG, INT_MAX);
}

/* fixture_end - join all members, which must be about to return */
static inline void fixture_end(struct fixture *fixture)
{
	fixture_let_go(fixture);
	fixture_gone(fixture, fixture->nr);
	for (int i = 0; i < fixture->nr; i++)
		joined(fixture->members[i].thread);
	fixture_shown = NULL;
	free(fixture->members);
	fixture->members = NULL;
}
