// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who has released several looks for their answer before it sleeps. A second
 * waiter, a deadline and a cancellation end the look, which is forced to have no
 * other end.
 */
#include "args.h"
#include "caller.h"
#include "deadline.h"
#include "policy.h"
#include "sanitizer.h"

static void test_answer(const char *what, struct caller how)
{
	int nr_tries = 1000;

	do {
		caller_begin(what, how);
		caller_end();
	} while (caller.nr_sleeps && caller.was_away && --nr_tries);
	tap_is(caller.nr_sleeps, 0, "%s: the answer comes before the sleep",
	       what);
}

/* Without an end the look takes minutes. */
#define PATIENCE_NS (8 * NS_PER_S)

static void test_deadline(void)
{
	struct timespec soon = deadline_in(CLOCK_MONOTONIC, 10 * NS_PER_MS);
	struct timespec late = deadline_in(CLOCK_MONOTONIC, PATIENCE_NS);
	const struct caller how = {
		.with = &mutex,
		.unanswered = true,
		.deadline = &soon,
	};

	caller_begin("a deadline", how);
	caller_end();
	tap_ok(caller.result == ETIMEDOUT &&
		       !deadline_passed(CLOCK_MONOTONIC, &late),
	       "a deadline ends the look");
}

/* Both sleep then, and are woken. */
static void test_second(void)
{
	const struct caller how = { .with = &mutex, .unanswered = true };
	struct crew second = crew_of(&caller.answer, &mutex, 1);

	caller_begin("a second waiter", how);
	caller_has_joined();
	crew_add(&second, 1);
	if (place_settled(getpid(), atomic_load(&caller.tid), &mutex))
		tap_bail("the caller never slept");
	api_cond_broadcast(&caller.answer);
	crew_end(&second);
	caller_end();
	tap_ok(!caller.result && caller.nr_sleeps,
	       "a second waiter ends the look");
}

static void test_cancel(void)
{
	const struct caller how = { .with = &mutex, .unanswered = true };

	if (!API_IS_PTHREAD) {
		tap_skip("a cancellation ends the look",
			 "native waits are no cancellation points");
		return;
	}
	if (skips_cancellation("a cancellation ends the look"))
		return;
	caller_begin("a cancellation", how);
	caller_has_joined();
	pthread_cancel(caller.thread);
	caller_end();
	tap_is(caller.result, ECANCELED, "a cancellation ends the look");
}

static void test(const char *policy)
{
	const struct caller free = { .with = &mutex };
	const struct caller held = { .with = &mutex, .held = true };
	const struct caller another = { .with = &other, .held = true };
	const struct caller each = { .with = &mutex,
				     .held = true,
				     .each = true };

	(void)policy;
	test_answer("mutex free", free);
	test_answer("mutex held", held);
	test_answer("another mutex", another);
	test_answer("a signal for each", each);
	test_deadline();
	test_second();
	test_cancel();
}

static const char *const names[] = { "auto,await=100000000" };

int main(int argc, char **argv)
{
	struct policy_list list = { names, 1 };

	args_parse(argc, argv, "");
	return policies_main(argv, list, 7, test);
}
