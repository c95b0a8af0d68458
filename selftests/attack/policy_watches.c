// SPDX-License-Identifier: GPL-2.0-only
/* What is learned of looking for a signal before the sleep, and of calls. */
#include "policy_looks.h"

/* A look in vain: every so many, at last; and until then. */
#define WATCH_EVERY 512
#define WATCH_FIRST 10

static void test_watches(void)
{
	struct lib_waiter *w = waiter_self();
	struct cond c[2] = { { 0 } };

	tap_is(count_watches(w, &c[0], 1000, 1), 1000,
	       "signals come soon: all waits look for them");
	tap_ok(count_watches(w, &c[0], 100000, INT64_MAX) <=
		       WATCH_FIRST + 100000 / WATCH_EVERY,
	       "they don't: waits go to sleep, but for a few");
	tap_is(count_watches(w, &c[1], 100, 1), 100,
	       "which teaches nothing about another condvar");
	tap_ok(count_watches(w, &c[0], 1000, 1) >= 1000 - WATCH_EVERY,
	       "they come soon again: that is found out");
}

static void test_invited(void)
{
	struct lib_waiter *w = waiter_self();
	struct cond c = { 0 }, partner = { 0 };

	count_watches(w, &c, 100000, INT64_MAX);
	policy_met(&partner, false);
	tap_is(count_watches(w, &c, 1, INT64_MAX), 0,
	       "the partner slept: so does the thread");
	policy_met(&partner, true);
	tap_is(count_watches(w, &c, 2, INT64_MAX), 1,
	       "the partner was awake: the thread looks for it, once");
	policy_met(&partner, true);
	tap_is(count_watches(w, &c, 1, INT64_MAX), 0,
	       "it always is: that is no news");
}

static void test_crowded(void)
{
	struct lib_waiter *w = waiter_self();
	struct cond c = { 0 };
	struct crowd crowd;

	crowd_gather(&crowd);
	policy_watch_anew(w);
	tap_is(count_watches(w, &c, 1000, INT64_MAX), 0,
	       "more threads than CPUs: they sleep to begin with");
	crowd_end(&crowd);
	policy_watch_anew(w);
	tap_is(count_watches(w, &c, 1, INT64_MAX), 1,
	       "the others have ended: they look again");
}

/* Of @nr, how many call @w, if its signal then @comes? */
static int count_calls(struct lib_waiter *w, int nr, bool comes)
{
	int nr_calls = 0;

	while (nr--) {
		if (!policy_calls(w))
			continue;
		nr_calls++;
		policy_called(w, comes);
	}
	return nr_calls;
}

/* Calls in vain: so many are borne, then fewer and fewer, and at last these. */
#define CALL_EVERY 512
#define CALL_FIRST (6 + 10)

static void test_calls(void)
{
	struct lib_waiter *w = waiter_self();

	tap_is(count_calls(w, 1000, true), 1000,
	       "signals come after calls: all call");
	tap_ok(count_calls(w, 100000, false) <=
		       CALL_FIRST + 100000 / CALL_EVERY,
	       "they don't: nobody does, but for a few");
	tap_ok(count_calls(w, 1000, true) >= 1000 - CALL_EVERY,
	       "they come again: that is found out");
	for (int i = 0; i < 100; i++) {
		count_calls(w, 3, false);
		count_calls(w, 1, true);
	}
	tap_is(count_calls(w, 3, false), 3, "some in vain are borne");
	count_calls(w, 1, true);
}

static void test(const char *policy)
{
	(void)policy;
	test_watches();
	test_calls();
	test_invited();
	test_crowded();
}

/* On one CPU nobody would look for a signal, or call. */
static const char *const names[] = { "auto,watch=50,call=100" };

int main(int argc, char **argv)
{
	struct policy_list list = { names, 1 };

	(void)argc;
	return policies_main(argv, list, 13, test);
}
