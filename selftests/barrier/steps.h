/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * steps.h - what threads do at a barrier, in words: see run.h
 *
 *	"init 3; arrive 2 0 = 0; sleeper; wait = SERIAL; ..."
 *
 * Phases are numbered from 0 to 3; "none" is a phase that the caller does not
 * ask for. The sleepers at a shared barrier are processes.
 */
#pragma once

#include <drover/barrier.h>
#include <sys/prctl.h>

#include "blocked.h"
#include "run.h"

static drover_barrier_t barrier, *at = &barrier;
static drover_phase_t phases[4];
static struct sleeper {
	pthread_t thread;
	pid_t process;
	int ret;
} sleepers[2];
static int nr_sleepers, nr_completed;
static atomic_int tid;

static void count_up(void *nr)
{
	++*(int *)nr;
}

/*
 * init COUNT SPIN COUNTED FLAGS: SPIN, COUNTED and FLAGS are one more than the
 * values, because what is left out is 1. The upper half of FLAGS is for a field
 * that must be 0.
 */
STEP(init)
{
	drover_barrierattr_t attr = { .spin_us = args[1] - 1,
				      .flags = args[3] - 1,
				      .reserved = { args[3] >> 32 },
				      .arg = &nr_completed };

	if (args[2] == 2)
		attr.completion = count_up;
	nr_completed = nr_sleepers = 0;
	at = attr.flags == DROVER_BARRIER_SHARED ? map_pages(sizeof(*at)) :
						   &barrier;
	return drover_barrier_init(at, args[0], &attr);
}

STEP_DO(ready, barrier = (drover_barrier_t)DROVER_BARRIER_INITIALIZER(args[0]));

/* waits N: how often the caller was the serial thread */
STEP(waits)
{
	long nr = 0;

	for (long i = 0; i < args[0]; i++)
		nr += drover_barrier_wait(at) == DROVER_BARRIER_SERIAL;
	return nr;
}

/* arrive NR PHASE: the phase stays 4711 if the call stores none */
STEP(arrive)
{
	drover_phase_t *phase = args[1] < 0 ? NULL : &phases[args[1]];

	if (phase)
		*phase = 4711;
	return drover_barrier_arrive(at, args[0], phase);
}

/* until PHASE MILLISECONDS CLOCK; -1 milliseconds: an invalid time */
STEP(until)
{
	struct timespec until = { 0, NS_PER_S };

	if (args[1] >= 0)
		until = deadline_in(args[2] ? CLOCK_MONOTONIC : CLOCK_REALTIME,
				    args[1] * NS_PER_MS);
	return drover_barrier_wait_until(at, phases[args[0]], args[2], &until);
}

static void *wait_once(void *arg)
{
	struct sleeper *self = arg;

	pthread_cancel(pthread_self()); /* no call acts upon it */
	tid = blocked_gettid();
	self->ret = drover_barrier_wait(at);
	return NULL;
}

/* sleeper: another thread waits, and sleeps; each is joined by a "back" */
STEP(sleeper)
{
	struct sleeper *next = &sleepers[nr_sleepers++];

	tid = 0;
	if (at == &barrier) {
		next->thread = thread_of(wait_once, next);
		asleep_on(&tid, NULL);
		return 0;
	}
	next->process = fork();
	if (!next->process) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(drover_barrier_wait(at));
	}
	if (wait_blocked(next->process, next->process, NULL))
		tap_bail("a process that should wait does not");
	return 0;
}

STEP(back)
{
	struct sleeper *last = &sleepers[--nr_sleepers];
	int status;

	if (at != &barrier)
		return waitpid(last->process, &status, 0) < 0 ? -1 : status;
	return joined(last->thread) == PTHREAD_CANCELED ? EINTR : last->ret;
}

STEP_IS(wait, drover_barrier_wait(at));
STEP_IS(wait_for, drover_barrier_wait_for(at, phases[args[0]]));
STEP_IS(test, drover_barrier_test(at, phases[args[0]]));
STEP_IS(forget, drover_barrier_forget(at, phases[args[0]]));
STEP_IS(drop, drover_barrier_arrive_and_drop(at));
STEP_IS(count, drover_barrier_set_count(at, args[0]));
STEP_IS(destroy, drover_barrier_destroy(at));
STEP_IS(stored, phases[args[0]] != 4711);
STEP_IS(completed, nr_completed);
NUMBER(SERIAL, DROVER_BARRIER_SERIAL);
NUMBER(none, -1);
NUMBER(most, DROVER_BARRIER_MAX);
NUMBER(EOVERFLOW, EOVERFLOW);
NUMBER(EINPROGRESS, EINPROGRESS);
