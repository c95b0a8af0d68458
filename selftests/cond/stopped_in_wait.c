// SPDX-License-Identifier: GPL-2.0-only
/*
 * A waiter of a shared condvar is released and stopped before it has left. Destroy
 * waits for it if it is a thread of the same process. If it is another process,
 * destroy may take it for dead; then it changes nothing when it goes on, whatever
 * the memory has become, and returns.
 *
 * APIs: drover pthread
 */
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "fixture.h"

/* Longer than it takes until a process is taken for dead. */
#define LONG_NS (2500 * NS_PER_MS)

/* So a child that hangs says so before its parent does. */
#define CHILD_SECONDS 30

struct arena {
	api_cond_t cond;
	api_mutex_t mutex;
	atomic_int waiting;
	atomic_int result;
};

static const int patterns[] = { 0x00, 0x01, 0x5a, 0xa5, 0xff };

static struct arena *arena_new(void)
{
	struct arena *arena = mmap(NULL, sizeof(*arena), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (arena == MAP_FAILED ||
	    kind_mutex_init(&arena->mutex, kind_named("normal"), true) ||
	    kind_cond_init(&arena->cond, true))
		tap_bail("no arena");
	return arena;
}

static pid_t fork_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		tap_bail("fork: %s", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		watchdog_seconds = CHILD_SECONDS;
		watchdog("a child");
	}
	return pid;
}

static int reap(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		tap_bail("waitpid: %s", strerror(errno));
	return status;
}

/* A process that waits, asleep when this returns. */
static pid_t waiting_process(struct arena *arena)
{
	pid_t pid = fork_child();
	int err;

	if (pid == 0) {
		api_mutex_lock(&arena->mutex);
		atomic_store(&arena->waiting, 1);
		err = api_cond_wait(&arena->cond, &arena->mutex);
		api_mutex_unlock(&arena->mutex);
		_exit(err);
	}
	if (wait_at_least(&arena->waiting, 1) ||
	    place_settled(pid, pid, &arena->mutex))
		tap_bail("a process never waits");
	return pid;
}

static void stop(pid_t pid)
{
	int status;

	kill(pid, SIGSTOP);
	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		tap_bail("a process does not stop");
}

static bool is_filled(const api_cond_t *cond, int pattern)
{
	const unsigned char *at = (const void *)cond;

	for (size_t i = 0; i < sizeof(*cond); i++)
		if (at[i] != pattern)
			return false;
	return true;
}

/* Return, as an exit status: 0, or what went wrong. */
static int stop_and_fill(int pattern)
{
	struct arena *arena = arena_new();
	pid_t pid = waiting_process(arena);
	int status;

	stop(pid);
	api_cond_broadcast(&arena->cond);
	api_cond_destroy(&arena->cond);
	memset(&arena->cond, pattern, sizeof(arena->cond));
	kill(pid, SIGCONT);
	status = reap(pid);
	if (!is_filled(&arena->cond, pattern))
		return 1;
	return status ? 2 : 0;
}

/* All at the same time, as each takes seconds. */
static void test_processes(void)
{
	pid_t pids[NR_OF(patterns)];

	watchdog("stopped processes");
	for (int i = 0; i < NR_OF(patterns); i++) {
		pids[i] = fork_child();
		if (!pids[i])
			_exit(stop_and_fill(patterns[i]));
	}
	for (int i = 0; i < NR_OF(patterns); i++)
		tap_is(reap(pids[i]), 0,
		       "a process goes on where all bytes are %#04x by now",
		       patterns[i]);
}

static struct arena *own;
static atomic_bool is_destroyed;

static void *destroy(void *arg)
{
	api_cond_destroy(&own->cond);
	atomic_store(&is_destroyed, true);
	return arg;
}

static void test_thread(void)
{
	struct timespec late = deadline_in(CLOCK_MONOTONIC, LONG_NS);
	struct fixture fixture;
	pthread_t destroyer;
	bool waited;

	watchdog("a stopped thread");
	own = arena_new();
	fixture = fixture_of(&own->cond, &own->mutex, 1);
	hold_off(fixture_wait(&fixture)->thread);
	api_cond_broadcast(&own->cond);
	if (pthread_create(&destroyer, NULL, destroy, NULL))
		tap_bail("pthread_create");
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &late, NULL);
	waited = !atomic_load(&is_destroyed);
	hold_off_end(1);
	pthread_join(destroyer, NULL);
	memset(&own->cond, 0xff, sizeof(own->cond));
	fixture_end(&fixture);
	tap_ok(waited && is_filled(&own->cond, 0xff),
	       "destroy waits for a thread of the same process");
}

static void test_killed(void)
{
	struct arena *arena = arena_new();
	pid_t pid = waiting_process(arena);

	watchdog("a killed process");
	kill(pid, SIGKILL);
	reap(pid);
	api_cond_broadcast(&arena->cond);
	tap_is(api_cond_destroy(&arena->cond), 0,
	       "destroy returns when the waiter was killed");
}

int main(int argc, char **argv)
{
	api_start(argv);
	if (!HANDLERS_ARE_PROMPT)
		return handlers_are_late();
	tap_plan(NR_OF(patterns) + 2);
	test_processes();
	test_thread();
	test_killed();
	return tap_exit();
}
