// SPDX-License-Identifier: GPL-2.0-only
/* What is learned of looking for a herd's answer before the sleep. */
#include "policy_looks.h"

/* In vain: every so many, at last; and until then. */
#define AWAIT_EVERY 32
#define AWAIT_FIRST 6

static struct group herd;

/* Of @nr waits after a broadcast, how many look until they are alone? */
static int count_awaits(struct cond *c, int nr, bool comes)
{
	struct lib_waiter *w = waiter_self();
	int nr_awaits = 0;

	while (nr--) {
		int64_t watch;

		thread_this.herd = &herd;
		watch = policy_watch(w, c, true);
		thread_this.herd = NULL;
		if (watch)
			policy_watched(w, c, watch, comes ? 0 : INT64_MAX);
		nr_awaits += watch == WATCH_HERD;
	}
	return nr_awaits;
}

static void test(const char *policy)
{
	bool awaits = !strstr(policy, "await=0");
	struct cond c = { 0 };

	tap_is(count_awaits(&c, 1000, true), awaits ? 1000 : 0,
	       "%s: answers come: waits look for them", policy);
	tap_ok(count_awaits(&c, 10000, false) <=
		       AWAIT_FIRST + 10000 / AWAIT_EVERY,
	       "%s: they don't: waits go to sleep, but for some", policy);
	tap_ok(count_awaits(&c, 1000, true) >=
		       (awaits ? 1000 - AWAIT_EVERY : 0),
	       "%s: they come again: that is found out", policy);
	thread_this.herd = &herd;
	tap_ok(policy_watch(waiter_self(), &c, false) != WATCH_HERD,
	       "%s: others wait for it, too: sleeps", policy);
	thread_this.herd = NULL;
	tap_ok(policy_watch(waiter_self(), &c, true) != WATCH_HERD,
	       "%s: no herd was called: sleeps", policy);
}

static const char *const names[] = { "auto,await=100", "auto,await=0" };

int main(int argc, char **argv)
{
	struct policy_list list = { names, 2 };

	(void)argc;
	return policies_main(argv, list, 5, test);
}
