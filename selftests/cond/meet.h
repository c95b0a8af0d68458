/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * meet.h - two calls at the same time, in words: see steps.h and preempt.h
 *
 * The call that is stopped is one verb. It is stopped after each of its
 * instructions in turn.
 */
#pragma once

#include "preempt.h"
#include "steps.h"

struct meeting {
	const char *name;
	const char *begin;
	const char *call;
	const char *other; /* while the call is stopped */
	const char *end;   /* did it go well? */
};

static const struct meeting *meeting;
static long (*meeting_act)(const long *args);

static inline void meeting_call(void *arg)
{
	meeting_act((long[]){ 1 });
}

static inline void meeting_other(void *arg)
{
	steps_do(meeting->other);
}

/* One round; *more: the call has more than @nr instructions. */
static inline bool meeting_round(long nr, bool *more)
{
	static char stage[128];
	bool ok;

	snprintf(stage, sizeof(stage), "%s, after %ld instructions",
		 meeting->name, nr);
	watchdog(stage);
	scene.ns = NS_PER_MS;
	fixture = fixture_of(&cond, &mutex, MOST_MEMBERS);
	steps_do(meeting->begin);
	actor_start(&caller, caller_thread, meeting_call, nr);
	actor_start(&other, other_thread, meeting_other, nr);
	/* Only now: both threads have to know each other. */
	caller.go = true;
	joined(caller.thread);
	*more = preempt.done;
	if (!*more)
		other_acts(NULL);
	joined(other.thread);
	ok = steps_do(meeting->end);
	if (!ok)
		tap_diag("the meeting fails after %ld instructions", nr);
	scene_over();
	return ok;
}

/*
 * No call has as many instructions. But a cancelled thread goes on with its
 * unwinding, so a limit is needed.
 */
#define EVERYWHERE_MAX 1200

/*
 * everywhere - did all rounds of @m go well?
 * @seed: where to begin; runs with other seeds try the other instructions
 * @ms: stop after so many milliseconds, even if not all instructions had their
 *	turn; 0: never
 */
static inline bool everywhere(const struct meeting *m, uint64_t seed,
			      uint64_t ms)
{
	int64_t deadline = blocked_now_ns() + (int64_t)ms * NS_PER_MS;
	long nr_rounds = 0;
	bool ok = true;

	meeting = m;
	meeting_act = step_named(m->call)->act;
	for (int i = 0; i < EVERYWHERE_STRIDE && ok; i++) {
		/* 7 has no common divisor with 16, so all have their turn. */
		long nr = 1 + (seed + 7 * i) % EVERYWHERE_STRIDE;
		bool more = true;

		for (; more && ok && nr < EVERYWHERE_MAX;
		     nr += EVERYWHERE_STRIDE) {
			if (ms && nr_rounds && blocked_now_ns() > deadline)
				return true;
			ok = meeting_round(nr, &more);
			nr_rounds++;
		}
	}
	return ok;
}

/*
 * A number of meetings under each policy
 *
 *	seed=N	where to begin
 *	ms=N	milliseconds for each meeting, and four times as many under the
 *		default policy; 0: stop after each and every instruction
 */

static struct {
	uint64_t seed, ms;
} meeting_options;

static inline void meetings_start(int argc, char **argv, uint64_t ms)
{
	struct args args = args_parse(argc, argv, "seed ms");

	meeting_options.seed = args_get(&args, "seed", args_fresh_seed());
	meeting_options.ms = args_get(&args, "ms", ms);
}

/* meetings_test - a result for each meeting; @label begins with the policy */
static inline void meetings_test(const char *label,
				 const struct meeting *meetings, int nr)
{
	uint64_t ms = meeting_options.ms;

	tap_diag("seed=%" PRIu64, meeting_options.seed);
	if (!strncmp(label, policies[0], strlen(policies[0])))
		ms *= 4;
	for (int i = 0; i < nr; i++)
		if (!PREEMPT_POSSIBLE)
			tap_skip(meetings[i].name,
				 "this processor has no trap flag");
		else
			tap_ok(everywhere(&meetings[i], meeting_options.seed,
					  ms),
			       "%s: %s", label, meetings[i].name);
}

/* Verbs of several tests. Those with "held" stand for a call with the mutex. */

STEP_DO(signal_held, signal_as(&cond, &mutex, true));
STEP_DO(broadcast_held, broadcast_as(&cond, &mutex, true));

static long own_result; /* of the call that is stopped */

STEP_DO(time_out_held, own_result = api_time_out(&cond, &mutex));
STEP_IS(own_result, own_result);
