// SPDX-License-Identifier: GPL-2.0-only
/*
 * No system call at all when nobody waits; and futex calls counted: one for a
 * signal, at most two for a broadcast whatever the number of waiters, at most
 * two for a wait, the mutex's own included.
 *
 * APIs: drover pthread
 */
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "sandbox.h"
#include "steps.h"

#define NR_SILENT 2

static api_cond_t shared_cond;

static int calls_of(int (*call)(api_cond_t *))
{
	futex_counts = (struct futex_counts){ 0 };
	call(&cond);
	return futex_counts.all;
}

/* Signal and broadcast, with the mutex free and held. */
STEP(calls_for_nobody)
{
	int nr = calls_of(api_cond_signal) + calls_of(api_cond_broadcast);

	api_mutex_lock(&mutex);
	nr += calls_of(api_cond_signal) + calls_of(api_cond_broadcast);
	api_mutex_unlock(&mutex);
	return nr;
}

STEP(signal_calls)
{
	return calls_of(api_cond_signal);
}

STEP(broadcast_calls)
{
	return calls_of(api_cond_broadcast);
}

/* It is told at most how many. */
STEP(broadcast_calls_at_most)
{
	return calls_of(api_cond_broadcast) <= args[0];
}

STEP(time_out_calls_at_most)
{
	int nr;

	api_mutex_lock(&mutex);
	futex_counts = (struct futex_counts){ 0 };
	do_time_out(NULL);
	nr = futex_counts.all;
	api_mutex_unlock(&mutex);
	return nr <= args[0];
}

static int member_calls;

static void count_calls(struct member *member)
{
	member_calls = futex_counts.all;
}

/* The handler that makes its call again sleeps in it just the same. */
STEP(wait_counted)
{
	struct member *member = fixture_start(
		&fixture, &(struct member){ .then = count_calls });

	/* Who came for the mutex meanwhile would make its unlock a call, too. */
	while (!atomic_load(&member->waiting))
		sched_yield();
	if (place_settled(getpid(), atomic_load(&member->tid), &mutex))
		tap_bail("the waiter never slept");
	return 0;
}

/* Woken rather than moved, it may have to sleep on the mutex. */
STEP(its_calls_at_most)
{
	tap_diag("%d calls of a wait", member_calls);
	return member_calls <= args[0];
}

static const struct scene scenes[] = {
	{ "nobody ever waited: no futex call", "calls_for_nobody = 0" },
	/* The library may find out now that it cannot move anybody. */
	{ "nobody waits any more: no futex call",
	  "wait 20; lock; broadcast; unlock; gone 20; wait 1; lock; signal;"
	  "unlock; gone 21; calls_for_nobody = 0" },
	{ "signal to 20, mutex free: one call", "wait 20; signal_calls = 1" },
	{ "signal to 20, mutex held: one call",
	  "wait 20; lock; signal_calls = 1" },
	{ "broadcast to 20, mutex free: one call",
	  "wait 20; broadcast_calls = 1" },
	{ "broadcast to 20, mutex held: one call",
	  "wait 20; lock; broadcast_calls = 1" },
	{ "broadcast after a signal, mutex free: at most two",
	  "wait 10; signal; gone 1; wait 10; broadcast_calls_at_most 2 = 1" },
	{ "broadcast after a signal, mutex held: at most two",
	  "wait 10; signal; gone 1; wait 10; lock;"
	  "broadcast_calls_at_most 2 = 1" },
	{ "a wait, mutex free: at most two calls",
	  "wait_counted; signal; gone 1; its_calls_at_most 2 = 1" },
	{ "a wait, mutex held: at most two calls",
	  "wait_counted; lock; signal; unlock; gone 1;"
	  "its_calls_at_most 2 = 1" },
	{ "a wait that times out: at most one call, and then none",
	  "time_out_calls_at_most 1 = 1; calls_for_nobody = 0" },
};

static void test_all(const char *policy)
{
	watchdog("counting calls");
	if (futex_filter_count())
		tap_skip_all(NR_OF(scenes), policy, "no seccomp filters here");
	else
		scenes_test(policy, scenes, NR_OF(scenes));
}

/* The kernel kills a strict process for any call but read, write and exit. */
static _Noreturn void call_strictly(void)
{
	bool strict;

	kind_cond_init(&shared_cond, true);
	/* The library asks once for the thread's number. */
	do_calls_for_nobody(NULL);
	api_cond_signal(&shared_cond);
	strict = !prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	do_calls_for_nobody(NULL);
	api_cond_signal(&shared_cond);
	api_cond_broadcast(&shared_cond);
	syscall(SYS_exit, strict ? TAP_PASS : TAP_SKIP);
	__builtin_unreachable();
}

static void test_silence(const char *policy, bool waited)
{
	pid_t pid = fork();
	char name[64];
	int status;

	if (pid < 0)
		tap_bail("fork: %s", strerror(errno));
	if (!pid) {
		if (waited)
			scene_holds(scenes[1].steps);
		call_strictly();
	}
	waitpid(pid, &status, 0);
	snprintf(name, sizeof(name), "%s: nobody %s: no system call", policy,
		 waited ? "waits any more" : "ever waited");
	if (WIFEXITED(status) && WEXITSTATUS(status) == TAP_SKIP)
		tap_skip(name, "no strict seccomp here");
	else
		tap_ok(status == 0, "%s", name);
}

/* A filter is for ever and survives exec: it is for a child, which reports. */
static void test(const char *policy)
{
	int results[2], status;
	pid_t pid;

	watchdog("counting calls");
	scene_start(policy, "normal", false);
	test_silence(policy, false);
	test_silence(policy, true);
	if (pipe(results) || (pid = fork()) < 0)
		tap_bail("fork: %s", strerror(errno));
	if (!pid) {
		test_all(policy);
		if (write(results[1], &tap, sizeof(tap)) != sizeof(tap))
			_exit(1);
		_exit(0);
	}
	close(results[1]);
	if (read(results[0], &tap, sizeof(tap)) != sizeof(tap))
		tap_bail("%s: the child has ended early", policy);
	close(results[0]);
	waitpid(pid, &status, 0);
}

int main(int argc, char **argv)
{
	api_start(argv);
	if (!HANDLERS_ARE_PROMPT)
		return handlers_are_late();
	return policy_main(argv, test);
}
