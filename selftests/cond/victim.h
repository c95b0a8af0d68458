/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * victim.h - a thread that waits, to be cancelled or ended
 */
#pragma once

#include "preempt.h"
#include "steps.h"

static struct victim {
	pthread_t thread;
	atomic_int tid;
	int state;
	int type;
	bool timed;
	bool self; /* the victim cancels itself before it waits */

	atomic_bool waiting;
	atomic_int result; /* of the wait; -1 if it did not return */
	bool pending;	   /* the cancellation acted after the wait's return */
	atomic_bool had_mutex; /* when it was cancelled */
	bool unblocked;	       /* it waited at the time of the broadcast */
	int type_after;
} victim;

/* An error-checking mutex knows whether the caller holds it. */
static inline void cleanup(void *arg)
{
	preempt_trap_end();
	victim.had_mutex = api_mutex_unlock(&mutex) == 0;
}

static inline void *victim_thread(void *arg)
{
	struct timespec far = deadline_in(CLOCK_MONOTONIC, 1000 * NS_PER_S);
	int ignored;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	victim.tid = blocked_gettid();
	api_mutex_lock(&mutex);
	pthread_cleanup_push(cleanup, arg);
	if (victim.self)
		pthread_cancel(pthread_self());
	victim.waiting = true;
	pthread_setcanceltype(victim.type, &ignored);
	pthread_setcancelstate(victim.state, &ignored);
	victim.result = victim.timed ?
				api_cond_clockwait(&cond, &mutex,
						   CLOCK_MONOTONIC, &far) :
				api_cond_wait(&cond, &mutex);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &victim.type_after);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored);
	victim.pending = true;
	pthread_testcancel();
	victim.pending = false;
	pthread_cleanup_pop(1);
	return NULL;
}

/* victim_start - with its state and type, timed, self */
static inline void victim_start(struct victim how)
{
	victim = how;
	victim.result = -1;
	start_thread(&victim.thread, victim_thread, NULL);
	wait_until(victim.waiting, "the victim never waits");
}

NUMBER(deferred, PTHREAD_CANCEL_DEFERRED);
NUMBER(asynchronous, PTHREAD_CANCEL_ASYNCHRONOUS);
NUMBER(enabled, PTHREAD_CANCEL_ENABLE);
NUMBER(disabled, PTHREAD_CANCEL_DISABLE);

/* Wait until the victim sleeps. Return: has it not returned from its wait? */
STEP(victim_sleeps)
{
	api_mutex_lock(&mutex);
	api_mutex_unlock(&mutex);
	place_settled(getpid(), victim.tid, &mutex);
	return victim.result == -1;
}

/* victim TYPE STATE TIMED: starts the victim, which sleeps then */
STEP(victim)
{
	victim_start((struct victim){
		.type = args[0], .state = args[1], .timed = args[2] });
	return do_victim_sleeps(NULL);
}

/* Was the victim cancelled in its wait, and had the mutex? */
STEP_IS(acts, joined(victim.thread) == PTHREAD_CANCELED && victim.had_mutex &&
		      victim.result == -1);
