/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * steps.h - scenarios of waiters on one condvar, in words: see run.h
 *
 *	scene_start(policy, "PI", true);	// the mutex, a shared condvar
 *	scenes_test(policy, scenes, NR_OF(scenes));
 *
 * Members are numbered from 0 as they are started. When a scene is over, the
 * main thread gives back what it still has, and wakes all waiters.
 */
#pragma once

#include "fixture.h"
#include "run.h"

#ifndef MOST_MEMBERS
#define MOST_MEMBERS 60
#endif

struct scene {
	const char *name;
	const char *steps;
};

static api_cond_t cond;
static api_mutex_t mutex, second;
static struct fixture fixture;
static const char *scene_policy; /* as told to scene_start() */

/* What the main thread has. */
static struct {
	bool lock, second, holder;
	int nr_off;
	bool again;
	int64_t ns; /* until the deadline */
	struct timespec deadline;
} scene;

static inline void scene_add(int nr, const struct member *how, bool asleep)
{
	int first = fixture.nr;

	for (int i = 0; i < nr; i++)
		fixture_start(&fixture, how);
	for (int i = first; i < fixture.nr; i++) {
		if (asleep)
			member_asleep(&fixture.members[i]);
		else
			member_has_joined(&fixture.members[i]);
	}
}

/* wait N: they sleep. */
STEP_DO(wait, scene_add(args[0], NULL, true));

/* join N: they wait, and may not sleep yet. */
STEP_DO(join, scene_add(args[0], NULL, false));
STEP_DO(wait_second,
	scene_add(args[0], &(struct member){ .mutex = &second }, true));

/* timed N: with a deadline that is long enough for what comes before it. */
STEP(timed)
{
	scene.deadline = deadline_in(CLOCK_MONOTONIC, scene.ns);
	scene_add(args[0],
		  &(struct member){ .deadline = &scene.deadline,
				    .clock = CLOCK_MONOTONIC },
		  false);
	return 0;
}

/* If the deadline has passed already, run the scene again with more time. */
STEP(in_time)
{
	scene.again = deadline_passed(CLOCK_MONOTONIC, &scene.deadline);
	if (!scene.again)
		return 0;
	scene.ns *= 2;
	return STEPS_END;
}

STEP(time_passes)
{
	while (!deadline_passed(CLOCK_MONOTONIC, &scene.deadline))
		sched_yield();
	return 0;
}

/* times_out MEMBER: if it does not, run the scene again with more time. */
STEP(times_out)
{
	wait_until(member_place(&fixture.members[args[0]]) == RETURNED,
		   "member %ld never times out", args[0]);
	scene.again = fixture.members[args[0]].result != ETIMEDOUT;
	if (!scene.again)
		return 0;
	scene.ns *= 2;
	return STEPS_END;
}

/* The main thread waits, with a deadline in the past. */
STEP(time_out)
{
	struct timespec past = deadline_in(CLOCK_MONOTONIC, -1);

	return errno_kept(
		api_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &past));
}

STEP(signal)
{
	for (int i = 0; i < args[0]; i++)
		errno_kept(api_cond_signal(&cond));
	return 0;
}

STEP_IS(broadcast, errno_kept(api_cond_broadcast(&cond)));

/* The call names the mutex, if the API has such a call. */
STEP_IS(broadcast_on, errno_kept(kind_broadcast(&cond, &mutex)));

STEP(lock)
{
	scene.lock = true;
	return errno_kept(api_mutex_lock(&mutex));
}

STEP(unlock)
{
	scene.lock = false;
	return errno_kept(api_mutex_unlock(&mutex));
}

STEP(lock_second)
{
	scene.second = true;
	return api_mutex_lock(&second);
}

STEP(unlock_second)
{
	scene.second = false;
	return api_mutex_unlock(&second);
}

/*
 * each N HELD: signals, until N members have returned; does each signal make
 * one member return?
 */
STEP(each)
{
	for (int i = fixture.nr_returned + 1; i <= args[0]; i++) {
		signal_as(&cond, &mutex, args[1]);
		fixture_gone(&fixture, i);
		if (fixture_count(&fixture, RETURNED) != i)
			return 0;
	}
	return 1;
}

/* An elided mutex has no trylock. */
static inline void *mutex_is_busy(void *busy)
{
	const struct timespec past = { 0, 0 };

	*(int *)busy = kind_timedlock(&mutex, &past) == ETIMEDOUT;
	if (!*(int *)busy)
		api_mutex_unlock(&mutex);
	return NULL;
}

/* Is the mutex held? Another thread asks. */
STEP(busy)
{
	int busy;

	joined(thread_of(mutex_is_busy, &busy));
	return busy;
}

/* Another thread, which has the mutex until it is told to let go. */
static struct {
	pthread_t thread;
	atomic_int has_it;
	_Atomic uint32_t let_go; /* a futex */
} holder;

static inline void *hold_mutex(void *arg)
{
	api_mutex_lock(&mutex);
	holder.has_it = 1;
	while (!holder.let_go)
		sys_futex_wait(&holder.let_go, FUTEX_PRIVATE_FLAG, false, NULL);
	api_mutex_unlock(&mutex);
	return arg;
}

STEP(hold)
{
	holder.has_it = 0;
	holder.let_go = false;
	start_thread(&holder.thread, hold_mutex, NULL);
	reached(&holder.has_it, 1);
	scene.holder = true;
	return 0;
}

STEP(let_go)
{
	holder.let_go = true;
	sys_futex_wake(&holder.let_go, FUTEX_PRIVATE_FLAG, 1);
	joined(holder.thread);
	scene.holder = false;
	return 0;
}

/* off FIRST LAST: these members are kept in a signal handler, until "on". */
STEP(off)
{
	for (int i = args[0]; i <= args[1]; i++, scene.nr_off++)
		hold_off(fixture.members[i].thread);
	return 0;
}

STEP(on)
{
	hold_off_end(scene.nr_off);
	scene.nr_off = 0;
	return 0;
}

/* A member that returns keeps the mutex, until the scene is over. */
STEP_DO(keep, fixture.keep = true);
STEP_DO(gone, fixture_gone(&fixture, args[0]));
STEP_DO(one_returns, reached(&fixture.nr_returned, args[0]));
STEP_IS(waiting, fixture_count(&fixture, AT_COND));
STEP_IS(at_mutex, fixture_count(&fixture, AT_MUTEX));

/* woken N ALL: were N woken? Were ALL, if no waiter can be moved? */
STEP(woken)
{
	int nr = fixture_count(&fixture, AT_MUTEX);

	if (nr == (policy_moves(scene_policy) ? args[0] : args[1]))
		return 1;
	tap_diag("%d were woken", nr);
	return 0;
}

STEP_IS(returned, fixture_count(&fixture, RETURNED));

/* How many have returned with 0, and with a given number. */
STEP_IS(zeros, fixture_results(&fixture, 0));
STEP_IS(results, fixture_results(&fixture, args[0]));

/* sleeps MEMBER: once it is settled, does it sleep at the condvar? */
STEP(sleeps)
{
	struct member *member = &fixture.members[args[0]];

	wait_until(member_place(member) != AWAKE,
		   "member %ld neither returns nor sleeps", args[0]);
	return member_place(member) == AT_COND;
}

STEP_IS(result, fixture.members[args[0]].result);

static inline void scene_over(void)
{
	if (scene.nr_off)
		do_on(NULL);
	if (scene.lock)
		do_unlock(NULL);
	if (scene.second)
		do_unlock_second(NULL);
	if (scene.holder)
		do_let_go(NULL);
	fixture_let_go(&fixture);
	while (fixture.nr_returned < fixture.nr) {
		kind_broadcast(&cond, &mutex);
		fixture_count(&fixture, RETURNED);
	}
	fixture_end(&fixture);
}

static inline bool scene_holds(const char *steps)
{
	bool ok;

	watchdog(steps);
	scene.ns = 20 * NS_PER_MS;
	do {
		if (scene.ns > 20 * NS_PER_S)
			tap_bail("never in time: %s", steps);
		scene.again = false;
		fixture = fixture_of(&cond, &mutex, MOST_MEMBERS);
		ok = steps_do(steps);
		scene_over();
	} while (scene.again);
	return ok;
}

/* scene_start - a new condvar and two mutexes of a kind, for later scenes */
static inline void scene_start(const char *policy, const char *kind,
			       bool shared)
{
	static bool started;

	if (started) {
		kind_cond_destroy(&cond, &mutex);
		api_mutex_destroy(&mutex);
		api_mutex_destroy(&second);
	}
	started = true;
	scene_policy = policy;
	MUST(kind_cond_init(&cond, shared));
	MUST(kind_mutex_init(&mutex, kind_named(kind), shared));
	MUST(kind_mutex_init(&second, kind_named(kind), shared));
}

/* scenes_test - a result for each scene */
static inline void scenes_test(const char *label, const struct scene *scenes,
			       int nr)
{
	for (int i = 0; i < nr; i++)
		tap_ok(scene_holds(scenes[i].steps), "%s: %s", label,
		       scenes[i].name);
}
