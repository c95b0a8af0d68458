/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * meet.h - two calls at the same time, in words: see steps.h and preempt.h
 *
 * The call is one verb, which is stopped after each of its instructions in
 * turn.
 */
#pragma once

#include "preempt.h"
#include "steps.h"

struct meeting {
	const char *name;
	const char *begin;
	const char *call;
	const char *other; /* meanwhile */
	const char *end;   /* went it well? */
};

static const struct meeting *meeting;
static long (*meeting_act)(const long *args);

static inline void meeting_begin(void)
{
	scene.ns = NS_PER_MS;
	fixture = fixture_of(&cond, &mutex, MOST_MEMBERS);
	steps_do(meeting->begin);
}

static inline void meeting_call(void *arg)
{
	meeting_act((long[]){ 1 });
}

static inline void meeting_other(void)
{
	steps_do(meeting->other);
}

static inline bool meeting_end(void)
{
	bool ok = steps_do(meeting->end);

	scene_over();
	return ok;
}

/* meeting_scenario - of @m, until the next one is asked for */
static inline struct scenario meeting_scenario(const struct meeting *m)
{
	meeting = m;
	meeting_act = step_named(m->call)->act;
	return (struct scenario){ m->name, meeting_begin, meeting_call,
				  meeting_other, meeting_end };
}

/* meetings_test - a result for each; @label begins with the policy */
static inline void meetings_test(const char *label,
				 const struct meeting *meetings, int nr)
{
	tap_diag("seed=%" PRIu64, scenario_options.seed);
	for (int i = 0; i < nr; i++) {
		struct scenario s = meeting_scenario(&meetings[i]);

		scenario_test(label, &s);
	}
}

/* The verbs of several, and those that stand for a call with the mutex. */

STEP_DO(signal_held, signal_as(&cond, &mutex, true));
STEP_DO(broadcast_held, broadcast_as(&cond, &mutex, true));

static long own_result; /* of the call that is stopped */

STEP(time_out_held)
{
	struct timespec past = deadline_in(CLOCK_MONOTONIC, -1);

	api_mutex_lock(&mutex);
	own_result = api_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &past);
	api_mutex_unlock(&mutex);
	return own_result;
}

STEP_IS(own_result, own_result);
