/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fixture.h - threads that wait on one condvar, and where it lies
 */
#ifndef DROVER_SELFTESTS_FIXTURE_H
#define DROVER_SELFTESTS_FIXTURE_H

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "api.h"
#include "blocked.h"
#include "tap.h"

/*
 * Where a thread sleeps that waits on a condvar or its mutex
 *
 *	place_of(getpid(), tid, &mutex)
 *
 * A thread that sleeps in futex shows the call that put it to sleep, also
 * after a requeue. So a waiter that was woken and went to sleep on the mutex is
 * AT_MUTEX, and one that was moved there is AT_COND as before. Who sleeps in
 * FUTEX_LOCK_PI elsewhere wants a lock inside the library for a moment; in
 * FUTEX_WAIT, which no wait on a condvar uses, one inside a sanitizer.
 */

enum place {
	RETURNED, /* for the caller to know */
	AT_COND,  /* in the sleep that began at the condvar, moved or not */
	AT_MUTEX, /* was awake since */
	AWAKE,	  /* on the way */
};

static inline enum place place_of(pid_t pid, pid_t tid, const void *mutex)
{
	unsigned long long address, op;
	char text[512];
	long nr;

	if (blocked_read(pid, tid, "syscall", text, sizeof(text)) < 0 ||
	    sscanf(text, "%ld 0x%llx 0x%llx", &nr, &address, &op) != 3 ||
	    nr != SYS_futex)
		return AWAKE;
	/* Second, so that it is this sleep or a later one. */
	if (blocked_read(pid, tid, "stat", text, sizeof(text)) < 0 ||
	    !blocked_state_is_sleep(text))
		return AWAKE;
	if (address == (uintptr_t)mutex)
		return AT_MUTEX;
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
		return AT_COND;
	default:
		return AWAKE;
	}
}

/* place_settled - wait until the thread sleeps in its wait; 0 or -ETIMEDOUT */
static inline int place_settled(pid_t pid, pid_t tid, const void *mutex)
{
	int64_t deadline = blocked_deadline();

	while (place_of(pid, tid, mutex) != AT_COND) {
		if (blocked_over(deadline))
			return -ETIMEDOUT;
		sched_yield();
	}
	return 0;
}

/*
 * A number of threads that wait on a condvar, each once
 *
 *	struct crew crew = crew_of(&cond, &mutex, 8);
 *
 *	crew_add(&crew, 8);		// all asleep when this returns
 *	api_cond_signal(&cond);
 *	crew_gone(&crew, 1);		// one has returned and unlocked
 *	tap_is(crew_count(&crew, AT_COND), 7, "the others still wait");
 *
 * The waits have no predicate, so every return is seen. Where a member is, the
 * kernel tells: see above. Everything is bounded: what never comes ends the
 * program with "Bail out!".
 */

#define CREW_STACK_SIZE (256 * 1024)

struct crew;

struct member {
	struct crew *crew;
	pthread_t thread;
	atomic_int tid; /* 0 until the thread runs */

	/* What to wait for; written before the thread starts. */
	api_cond_t *cond;
	api_mutex_t *mutex;
	const struct timespec *deadline; /* NULL: none */
	clockid_t clock;
	/* Called after the wait, with its result and the mutex; or NULL. */
	void (*then)(struct member *member);

	/* With the mutex held: about to wait. */
	atomic_bool waiting;
	/* Written before turn. */
	int result;
	atomic_int turn; /* how many returned before; -1: still waiting */
};

struct crew {
	api_cond_t *cond;
	api_mutex_t *mutex;
	struct member *members;
	int nr;
	int max;
	atomic_int nr_returned; /* counted with the mutex held */
	atomic_int nr_gone;	/* and counted after unlocking it */
	/* Who returns keeps the mutex while this is set. */
	atomic_bool keep;
};

static inline struct crew crew_of(api_cond_t *cond, api_mutex_t *mutex, int max)
{
	struct crew crew = {
		.cond = cond,
		.mutex = mutex,
		.members = calloc(max, sizeof(*crew.members)),
		.max = max,
	};

	if (!crew.members)
		tap_bail("no memory for %d waiters", max);
	return crew;
}

static inline int member_wait(struct member *member)
{
	if (!member->deadline)
		return api_cond_wait(member->cond, member->mutex);
	return api_cond_clockwait(member->cond, member->mutex, member->clock,
				  member->deadline);
}

static inline void *member_thread(void *arg)
{
	struct member *member = arg;
	struct crew *crew = member->crew;

	atomic_store(&member->tid, blocked_gettid());
	api_mutex_lock(member->mutex);
	atomic_store(&member->waiting, true);
	member->result = member_wait(member);
	if (member->then)
		member->then(member);
	atomic_store(&member->turn, atomic_fetch_add(&crew->nr_returned, 1));
	while (atomic_load(&crew->keep))
		sched_yield();
	/* Of a mutex that nobody can have it is not the holder. */
	if (member->result != ENOTRECOVERABLE)
		api_mutex_unlock(member->mutex);
	atomic_fetch_add(&crew->nr_gone, 1);
	return NULL;
}

/*
 * crew_start - one more member, perhaps not yet asleep
 * @how: deadline, clock and then count; cond and mutex, if set, instead of the
 *	 crew's; NULL for a wait without end
 */
static inline struct member *crew_start(struct crew *crew,
					const struct member *how)
{
	struct member *member = &crew->members[crew->nr];
	pthread_attr_t attr;
	int err;

	if (crew->nr == crew->max)
		tap_bail("more than %d waiters in this crew", crew->max);
	crew->nr++;
	if (how)
		*member = *how;
	member->crew = crew;
	member->cond = member->cond ? member->cond : crew->cond;
	member->mutex = member->mutex ? member->mutex : crew->mutex;
	atomic_init(&member->turn, -1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, CREW_STACK_SIZE);
	err = pthread_create(&member->thread, &attr, member_thread, member);
	pthread_attr_destroy(&attr);
	if (err)
		tap_bail("waiter %d: pthread_create: %s", crew->nr - 1,
			 strerror(err));
	return member;
}

/*
 * member_has_joined - wait until the others count @member as a waiter
 *
 * It held the mutex when it said that it waits, so it has released it in the
 * wait once we have the mutex. The caller must not hold it.
 */
static inline void member_has_joined(struct member *member)
{
	int64_t deadline = blocked_deadline();

	while (!atomic_load(&member->waiting)) {
		if (blocked_over(deadline))
			tap_bail("a waiter never waited");
		sched_yield();
	}
	api_mutex_lock(member->mutex);
	api_mutex_unlock(member->mutex);
}

static inline enum place member_place(struct member *member)
{
	if (atomic_load(&member->turn) >= 0)
		return RETURNED;
	return place_of(getpid(), atomic_load(&member->tid), member->mutex);
}

/* member_asleep - wait until @member sleeps in its wait */
static inline void member_asleep(struct member *member)
{
	member_has_joined(member);
	if (place_settled(getpid(), atomic_load(&member->tid), member->mutex))
		tap_bail("waiter %d never slept",
			 (int)(member - member->crew->members));
}

/* crew_wait - one more member that waits without end, asleep on return */
static inline struct member *crew_wait(struct crew *crew)
{
	struct member *member = crew_start(crew, NULL);

	member_asleep(member);
	return member;
}

/* crew_add - @nr more members, asleep on return, in no known order */
static inline void crew_add(struct crew *crew, int nr)
{
	struct member *first = &crew->members[crew->nr];

	for (int i = 0; i < nr; i++)
		crew_start(crew, NULL);
	for (int i = 0; i < nr; i++)
		member_asleep(&first[i]);
}

/* crew_returned - wait until @nr members have returned altogether */
static inline void crew_returned(struct crew *crew, int nr)
{
	if (wait_at_least(&crew->nr_returned, nr))
		tap_bail("%d of %d waiters returned, expected %d",
			 atomic_load(&crew->nr_returned), crew->nr, nr);
}

/* crew_gone - wait until @nr have returned and have unlocked their mutex */
static inline void crew_gone(struct crew *crew, int nr)
{
	if (wait_at_least(&crew->nr_gone, nr))
		tap_bail("%d of %d waiters returned, expected %d",
			 atomic_load(&crew->nr_gone), crew->nr, nr);
}

/* Who has returned, and has not unlocked yet, is about to wake another. */
static inline bool crew_any_awake(struct crew *crew)
{
	if (!atomic_load(&crew->keep) &&
	    atomic_load(&crew->nr_gone) < atomic_load(&crew->nr_returned))
		return true;
	for (int i = 0; i < crew->nr; i++)
		if (member_place(&crew->members[i]) == AWAKE)
			return true;
	return false;
}

/*
 * crew_count - how many are at @place once nobody is on the way
 *
 * The kernel makes a thread runnable before the call that wakes it returns,
 * so who was woken is not taken for asleep. But one that was seen asleep may be
 * woken by one that is looked at next, and has then returned or sleeps: so all
 * are looked at twice.
 */
static inline int crew_count(struct crew *crew, enum place place)
{
	int64_t deadline = blocked_deadline();
	int count = 0, nr_sweeps = 0, returned = -1;

	while (nr_sweeps < 2 || returned != atomic_load(&crew->nr_returned)) {
		if (blocked_over(deadline))
			tap_bail("a waiter neither returns nor sleeps");
		returned = atomic_load(&crew->nr_returned);
		nr_sweeps = crew_any_awake(crew) ? 0 : nr_sweeps + 1;
		if (!nr_sweeps)
			sched_yield();
	}
	for (int i = 0; i < crew->nr; i++)
		count += member_place(&crew->members[i]) == place;
	return count;
}

/* crew_results - how many returned with @result */
static inline int crew_results(struct crew *crew, int result)
{
	int count = 0;

	for (int i = 0; i < crew->nr; i++)
		if (atomic_load(&crew->members[i].turn) >= 0 &&
		    crew->members[i].result == result)
			count++;
	return count;
}

/* crew_end - join all members, which must be about to return */
static inline void crew_end(struct crew *crew)
{
	atomic_store(&crew->keep, false);
	crew_gone(crew, crew->nr);
	for (int i = 0; i < crew->nr; i++)
		pthread_join(crew->members[i].thread, NULL);
	free(crew->members);
	crew->members = NULL;
}

/*
 * The end of a crew whose condvar and mutex are of some kind
 */

/* kind_crew_end - wake who still waits, join all, destroy what they used */
static inline void kind_crew_end(struct crew *crew)
{
	while (crew_count(crew, RETURNED) < crew->nr)
		kind_broadcast(crew->cond, crew->mutex);
	crew_end(crew);
	kind_cond_destroy(crew->cond, crew->mutex);
	api_mutex_destroy(crew->mutex);
}

#endif /* DROVER_SELFTESTS_FIXTURE_H */
