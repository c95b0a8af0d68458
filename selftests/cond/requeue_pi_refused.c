// SPDX-License-Identifier: GPL-2.0-only
/*
 * A sandbox that comes when threads already sleep for requeue-PI, and refuses
 * that: nothing but requeue-PI and signals can wake such a thread, yet each has
 * to be woken, by the very call that finds out.
 */
#include <sys/wait.h>

#include "crew.h"
#include "futex_filter.h"
#include "kinds.h"
#include "watchdog.h"

#define NR_WAITERS 4

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex;

enum outcome {
	FULFILLED,
	VIOLATED,
	NO_FILTERS,
};

/* Those that come are refused the wait as well, if @waiters. */
static void refuse(int error, bool waiters)
{
	if (futex_filter_refuse_pi(error, waiters))
		_exit(NO_FILTERS);
}

static void broadcast_held(void)
{
	api_mutex_lock(&mutex);
	api_cond_broadcast(&cond);
	api_mutex_unlock(&mutex);
}

static bool all_back(struct crew *crew, int nr)
{
	bool all;

	crew_gone(crew, nr);
	all = crew_results(crew, 0) == nr;
	crew_end(crew);
	return all;
}

static bool broadcast(int error)
{
	struct crew crew = crew_of(&cond, &mutex, NR_WAITERS);

	crew_add(&crew, NR_WAITERS);
	refuse(error, false);
	broadcast_held();
	return all_back(&crew, NR_WAITERS);
}

/* None is lost, and none wakes two. */
static bool signals(int error)
{
	struct crew crew = crew_of(&cond, &mutex, NR_WAITERS);
	bool exact = true;

	crew_add(&crew, NR_WAITERS);
	refuse(error, false);
	for (int i = 1; i <= NR_WAITERS; i++) {
		api_mutex_lock(&mutex);
		api_cond_signal(&cond);
		api_mutex_unlock(&mutex);
		crew_gone(&crew, i);
		exact = exact && crew_count(&crew, RETURNED) == i;
	}
	return all_back(&crew, NR_WAITERS) && exact;
}

/* Newcomers join those that were there, and may not sleep as they do. */
static bool newcomers(int error)
{
	struct crew crew = crew_of(&cond, &mutex, 2 * NR_WAITERS);

	crew_add(&crew, NR_WAITERS);
	refuse(error, true);
	crew_add(&crew, NR_WAITERS);
	broadcast_held();
	return all_back(&crew, 2 * NR_WAITERS);
}

/* Those that come when it is known; and none of the first has a group left. */
static bool afterwards(int error)
{
	struct crew crew = crew_of(&cond, &mutex, NR_WAITERS);

	if (!broadcast(error))
		return false;
	crew_add(&crew, NR_WAITERS);
	broadcast_held();
	return all_back(&crew, NR_WAITERS);
}

static const struct scenario {
	const char *name;
	bool (*run)(int error);
} scenarios[] = {
	{ "a broadcast", broadcast },
	{ "signals", signals },
	{ "newcomers", newcomers },
	{ "afterwards", afterwards },
};

#define NR_SCENARIOS ((int)(sizeof(scenarios) / sizeof(scenarios[0])))

static const struct mutex_kind *kind_pi(void)
{
	for (size_t i = 0; i < NR_MUTEX_KINDS; i++)
		if (strcmp(mutex_kinds[i].name, "PI") == 0)
			return &mutex_kinds[i];
	tap_bail("no such kind of mutex");
}

static _Noreturn void run_child(const struct scenario *scenario, int error)
{
	watchdog(scenario->name);
	if (kind_mutex_init(&mutex, kind_pi(), false))
		_exit(VIOLATED);
	_exit(scenario->run(error) ? FULFILLED : VIOLATED);
}

static void test(const struct scenario *scenario, int error)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		tap_bail("fork: %s", strerror(errno));
	if (!pid)
		run_child(scenario, error);
	if (waitpid(pid, &status, 0) != pid)
		tap_bail("waitpid: %s", strerror(errno));
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FILTERS)
		tap_skip(scenario->name, "this kernel has no seccomp filters");
	else
		tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == FULFILLED,
		       "%s: %s", strerror(error), scenario->name);
}

int main(int argc, char **argv)
{
	(void)argc;
	api_start(argv);
	tap_plan(2 * NR_SCENARIOS);
	for (int i = 0; i < NR_SCENARIOS; i++) {
		test(&scenarios[i], EPERM);
		test(&scenarios[i], ENOSYS);
	}
	return tap_exit();
}
