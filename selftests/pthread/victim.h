/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * victim.h - a thread that waits, to be cancelled
 */
#pragma once

#include "../cond/steps.h"
#include "preempt.h"

static struct victim {
	pthread_t thread;
	atomic_int tid;
	int state;
	int type;
	bool timed;
	bool self; /* cancels itself before it waits */

	atomic_bool waiting;
	atomic_int result; /* of the wait; -1 if it did not return */
	bool pending;	   /* the cancellation acted after it had returned */
	atomic_bool had_mutex; /* when it was cancelled */
	bool unblocked;	       /* waited at the time of the broadcast */
	int type_after;
	void *end;
} victim;

/* An error-checking mutex knows whether we hold it. */
static inline void cleanup(void *arg)
{
	preempt_trap_end();
	victim.had_mutex = pthread_mutex_unlock(&mutex) == 0;
}

static inline void *victim_thread(void *arg)
{
	struct timespec far = deadline_in(CLOCK_MONOTONIC, 1000 * NS_PER_S);
	int ignored;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	victim.tid = blocked_gettid();
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(cleanup, arg);
	if (victim.self)
		pthread_cancel(pthread_self());
	victim.waiting = true;
	pthread_setcanceltype(victim.type, &ignored);
	pthread_setcancelstate(victim.state, &ignored);
	victim.result = victim.timed ?
				pthread_cond_clockwait(&cond, &mutex,
						       CLOCK_MONOTONIC, &far) :
				pthread_cond_wait(&cond, &mutex);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &victim.type_after);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored);
	victim.pending = true;
	pthread_testcancel();
	victim.pending = false;
	pthread_cleanup_pop(1);
	return NULL;
}

static inline void victim_init(int state, int type, bool timed, bool self)
{
	victim = (struct victim){ .state = state,
				  .type = type,
				  .timed = timed,
				  .self = self,
				  .result = -1 };
}

static inline void victim_start(int state, int type, bool timed, bool self)
{
	victim_init(state, type, timed, self);
	start_thread(&victim.thread, victim_thread, NULL);
	while (!victim.waiting)
		sched_yield();
}
