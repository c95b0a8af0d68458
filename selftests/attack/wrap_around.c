// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters that wrap, brought to where they wrap: the interrupts of a group, and
 * the generations of forks.
 * It looks inside the library, to which it is linked.
 */
/* The member of a group is not the member of a fixture. */
#define member group_member
#include "cond/cond.h"
#undef member

#include "fixture.h"
#include "fake_futex.h"

#define NR_WAITERS    4
#define NR_INTERRUPTS 300 /* more than twice what there is room for */

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;

/* A signal returns one and a broadcast the rest. */
static bool round_passes(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);
	bool exact;

	fixture_add(&fixture, NR_WAITERS);
	api_cond_signal(&cond);
	fixture_gone(&fixture, 1);
	exact = fixture_count(&fixture, RETURNED) == 1;
	api_cond_broadcast(&cond);
	fixture_gone(&fixture, NR_WAITERS);
	exact = exact && fixture_results(&fixture, 0) == NR_WAITERS;
	fixture_end(&fixture);
	return exact;
}

static void test_interrupts(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);
	struct cond *c = (struct cond *)&cond;
	struct group *g;
	bool exact = true;

	watchdog("the interrupts of a group wrap");
	api_cond_init(&cond);
	fixture_add(&fixture, NR_WAITERS);
	g = load_relaxed(&c->open);
	for (int i = 0; i < NR_INTERRUPTS; i++) {
		group_interrupt(g, UINT32_MAX);
		exact = exact && group_blocked(g) == NR_WAITERS;
	}
	tap_ok(exact, "%d interrupts of a group count nobody in or out",
	       NR_INTERRUPTS);
	tap_is(fixture_count(&fixture, AT_COND), NR_WAITERS, "nobody returned");
	api_cond_broadcast(&cond);
	fixture_end(&fixture);
}

static bool child_passes(void)
{
	return fork_generation == GENERATION_LEAST && round_passes();
}

/* The generation wraps to 0, which is also what zero bytes have. */
static void test_forks(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);

	watchdog("the generations of forks wrap");
	fork_generation = UINT32_MAX;
	api_cond_init(&cond);
	fixture_add(&fixture, NR_WAITERS);
	tap_ok(child_does(child_passes, "in the child"),
	       "no stale waiters when the generations of forks wrap");
	api_cond_broadcast(&cond);
	fixture_end(&fixture);
}

int main(int argc, char **argv)
{
	args_parse(argc, argv, "");
	tap_plan(3);
	fake_futex_start((struct fake_futex){ 0 });
	test_interrupts();
	if (fork_threads_work())
		test_forks();
	else
		tap_skip("generations of forks", FORK_THREADS_SKIP);
	return tap_exit();
}
