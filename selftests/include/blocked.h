/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * blocked.h - wait until other threads have done something, such as fallen
 * asleep in futex
 *
 * A thread that waits looks again and again. The wait ends the program if all
 * other threads sleep for ever (stuck.h), or after blocked_patience.
 */
#pragma once

#include <stdatomic.h>

#include "stuck.h"

/* Absolute times for timed waits */

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)

/*
 * deadline_in - the time on @clock in @ns nanoseconds; in the past if negative
 */
static inline struct timespec deadline_in(clockid_t clock, int64_t ns)
{
	ns += ns_of(clock);
	return (struct timespec){ ns / NS_PER_S, ns % NS_PER_S };
}

static inline bool deadline_passed(clockid_t clock,
				   const struct timespec *deadline)
{
	return ns_of(clock) >= deadline->tv_sec * NS_PER_S + deadline->tv_nsec;
}

/* Long, because a thousand threads under emulation do little in a second. */
static int64_t blocked_patience = 60 * NS_PER_S;

/*
 * When this thread last asked, and how much time it missed: see
 * blocked_over().
 */
static _Thread_local int64_t blocked_seen, blocked_unseen;

/* blocked_deadline - the moment at which waiting becomes a failure */
static inline int64_t blocked_deadline(void)
{
	stuck_begin();
	blocked_seen = blocked_now_ns();
	return blocked_seen - blocked_unseen + blocked_patience;
}

/*
 * blocked_over - has a blocked_deadline() passed?
 *
 * To be called all the time. If this thread calls it again only after a second
 * or more, the process was stopped or had no CPU, and no other thread could do
 * anything either: that time does not count.
 */
static inline bool blocked_over(int64_t deadline)
{
	int64_t now = blocked_now_ns();

	if (now > blocked_seen + NS_PER_S)
		blocked_unseen += now - blocked_seen;
	blocked_seen = now;
	return now - blocked_unseen > deadline;
}

/* stuck_for_ever - the answer of stuck_found(); if it is true, report it */
static inline bool stuck_for_ever(void)
{
	bool found = stuck_found();

	if (found) {
		tap_diag("all other threads sleep, and nothing will wake them");
		stuck_report();
	}
	return found;
}

/*
 * wait_in_vain - has the deadline passed, or do all others sleep for ever? If
 * so, report where they sleep. For waits in which the thread only looks.
 */
static inline bool wait_in_vain(int64_t deadline)
{
	if (stuck_for_ever())
		return true;
	if (!blocked_over(deadline))
		return false;
	stuck_report();
	return true;
}

/* wait_until - yield until @condition; end the program if it is never true */
#define wait_until(condition, ...)                                             \
	for (int64_t until_ = blocked_deadline(); !(condition); sched_yield()) \
		if (wait_in_vain(until_))                                      \
	tap_bail(__VA_ARGS__)

/* wait_blocked - wait for blocked_in_futex(); 0, -ETIMEDOUT, or -ESRCH */
static inline int wait_blocked(pid_t pid, pid_t tid, const void *uaddr)
{
	int64_t deadline = blocked_deadline();
	int ret;

	while (!(ret = blocked_in_futex(pid, tid, uaddr))) {
		if (wait_in_vain(deadline))
			return -ETIMEDOUT;
		sched_yield();
	}
	return ret > 0 ? 0 : ret;
}

/* joined - wait until @thread has ended, and return what it returned */
static inline void *joined(pthread_t thread)
{
	void *result;
#ifdef __SANITIZE_THREAD__ /* it does not know pthread_timedjoin_np() */
	pthread_join(thread, &result);
#else
	struct timespec look;

	stuck_begin();
	do {
		if (stuck_for_ever())
			tap_bail("a thread never ends");
		look = deadline_in(CLOCK_REALTIME, STUCK_LOOK_NS);
	} while (pthread_timedjoin_np(thread, &result, &look) == ETIMEDOUT);
#endif
	return result;
}

/*
 * run_threads - run @nr threads at a time, each with its number, until they
 * end
 */
static inline void run_threads(int nr, void *(*run)(void *number))
{
	pthread_t threads[nr];

	for (intptr_t i = 0; i < nr; i++)
		threads[i] = thread_of(run, (void *)i);
	while (nr--)
		joined(threads[nr]);
}

/*
 * reached - wait until other threads have counted up to @value
 * wait_at_least - the same as an expression, which is 0
 */
#define reached(count, value)	    reached_or_bail(count, value, #count)
#define wait_at_least(count, value) (reached(count, value), 0)

static inline void reached_or_bail(atomic_int *count, int value,
				   const char *name)
{
	int now;

	wait_until((now = atomic_load(count)) >= value, "%s: %d, never %d",
		   name, now, value);
}

/*
 * asleep_on - wait until a thread sleeps on a futex, or on any if @uaddr is
 * NULL
 * @tid: 0 until the thread has written its id there
 */
static inline void asleep_on(atomic_int *tid, const void *uaddr)
{
	reached(tid, 1);
	if (wait_blocked(getpid(), *tid, uaddr))
		tap_bail("a thread that should wait does not");
}

/* asleep - wait until thread @tid sleeps on any futex */
static inline void asleep(pid_t tid)
{
	asleep_on(&(atomic_int){ tid }, NULL);
}

/*
 * Stop waiting threads before they can look for their wake-up: a signal handler
 * keeps them from hold_off() to hold_off_end(), as an unlucky scheduler would.
 */

static atomic_int nr_held_off, nr_let_go;
static atomic_bool holding_off;

static inline void hold_off_here(int signal)
{
	nr_held_off++;
	while (holding_off)
		sched_yield();
	nr_let_go++;
}

/*
 * hold_off_soon - send @thread to the handler, which it enters when it next
 * runs, unless it ends before
 */
static inline void hold_off_soon(pthread_t thread)
{
	signal(SIGUSR2, hold_off_here);
	holding_off = true;
	pthread_kill(thread, SIGUSR2);
}

/* hold_off - @thread is in the handler when this returns */
static inline void hold_off(pthread_t thread)
{
	int nr = nr_held_off;

	hold_off_soon(thread);
	reached(&nr_held_off, nr + 1);
}

/* hold_off_end - let all @nr held threads go on */
static inline void hold_off_end(int nr)
{
	holding_off = false;
	reached(&nr_let_go, nr);
	nr_held_off = 0;
	nr_let_go = 0;
}
