// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters that wrap, brought to where they wrap: the interrupts of a group, and
 * the generations of forks.
 * It looks inside the library, to which it is linked.
 */
#include <sys/wait.h>

/* The member of a group is not the member of a crew. */
#define member group_member
#include "cond/cond.h"
#undef member

#include "fixture.h"
#include "fake_futex.h"
#include "tap.h"

#define NR_WAITERS    4
#define NR_INTERRUPTS 300 /* more than twice what there is room for */

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;

/* A signal returns one and a broadcast the rest. */
static bool round_passes(void)
{
	struct crew crew = crew_of(&cond, &mutex, NR_WAITERS);
	bool exact;

	crew_add(&crew, NR_WAITERS);
	api_cond_signal(&cond);
	crew_gone(&crew, 1);
	exact = crew_count(&crew, RETURNED) == 1;
	api_cond_broadcast(&cond);
	crew_gone(&crew, NR_WAITERS);
	exact = exact && crew_results(&crew, 0) == NR_WAITERS;
	crew_end(&crew);
	return exact;
}

static void test_interrupts(void)
{
	struct crew crew = crew_of(&cond, &mutex, NR_WAITERS);
	struct cond *c = (struct cond *)&cond;
	struct group *g;
	bool exact = true;

	watchdog("the interrupts of a group wrap");
	api_cond_init(&cond);
	crew_add(&crew, NR_WAITERS);
	g = load_relaxed(&c->open);
	for (int i = 0; i < NR_INTERRUPTS; i++) {
		group_interrupt(g, UINT32_MAX);
		exact = exact && group_blocked(g) == NR_WAITERS;
	}
	tap_ok(exact, "%d interrupts of a group count nobody in or out",
	       NR_INTERRUPTS);
	tap_is(crew_count(&crew, AT_COND), NR_WAITERS, "nobody returned");
	api_cond_broadcast(&cond);
	crew_end(&crew);
}

/* The generation wraps to 0, which is also what zero bytes have. */
static void test_forks(void)
{
	struct crew crew = crew_of(&cond, &mutex, NR_WAITERS);
	int status = -1;
	pid_t pid;

	watchdog("the generations of forks wrap");
	fork_generation = UINT32_MAX;
	api_cond_init(&cond);
	crew_add(&crew, NR_WAITERS);
	pid = fork();
	if (pid == 0) {
		watchdog("in the child");
		_exit(fork_generation == 0 && round_passes() ? 0 : 1);
	}
	tap_ok(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0,
	       "no stale waiters when the generations of forks wrap");
	api_cond_broadcast(&cond);
	crew_end(&crew);
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
