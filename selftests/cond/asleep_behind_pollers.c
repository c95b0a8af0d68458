// SPDX-License-Identifier: GPL-2.0-only
/*
 * A broadcast finds two groups: those of the older one still poll, one of the
 * younger one sleeps, and a third thread has the mutex. The sleeper was moved
 * behind the older group, and then nobody was woken there, as nobody seemed to
 * sleep: it slept for ever.
 *
 * A poll lasts a tenth of a second here, so all of that fits into one. Where
 * nobody polls, with one CPU, the test is an ordinary broadcast.
 *
 * APIs: drover pthread
 */
#include "steps.h"

#define POLL_NS	  (100 * 1000 * 1000)
#define NR_SAVED  10 /* more polls than a thread has to begin with */
#define NR_ROUNDS 3

static const char *const policy[] = { "auto,spin=100000" };

static api_cond_t other = API_COND_INITIALIZER;
static atomic_int spent, may_wait;

/* Spends all that it may poll, and then sleeps at once. */
static int spend_and_wait(api_cond_t *c, api_mutex_t *m)
{
	for (int i = 0; i < NR_SAVED; i++) {
		struct timespec soon = deadline_in(CLOCK_MONOTONIC, POLL_NS);

		api_cond_clockwait(&other, m, CLOCK_MONOTONIC, &soon);
	}
	api_mutex_unlock(m);
	atomic_store(&spent, 1);
	wait_at_least(&may_wait, 1);
	api_mutex_lock(m);
	return api_cond_wait(c, m);
}

STEP(spender)
{
	atomic_store(&spent, 0);
	atomic_store(&may_wait, 0);
	fixture_start(&fixture, &(struct member){ .wait = spend_and_wait });
	return wait_at_least(&spent, 1);
}

STEP(spender_sleeps)
{
	atomic_store(&may_wait, 1);
	member_asleep(&fixture.members[0]);
	return 0;
}

static const struct step_word words[] = {
	VERB(spender),
	VERB(spender_sleeps),
	COND_WORDS,
	LAST_WORD,
};

static void test(const char *name)
{
	bool ok = true;

	scene_start(name, "normal", false);
	/* The signal closes the group; one is left. */
	for (int i = 0; i < NR_ROUNDS; i++)
		ok &= scene_holds(words, "spender; join 2; signal;"
					 "spender_sleeps; hold; broadcast;"
					 "let_go; gone 3");
	tap_ok(ok, "%s: everybody returns", name);
}

int main(int argc, char **argv)
{
	api_start(argv);
	return policies_main(argv, (struct policy_list){ policy, 1 }, 1, test);
}
