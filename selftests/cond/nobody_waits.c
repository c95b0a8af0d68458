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

#include "fixture.h"
#include "blocked.h"
#include "sandbox.h"
#include "api.h"
#include "run.h"
#include "tap.h"

#define NR_WAITERS 20
#define NR_COUNTED 12
#define NR_SILENT  2

static api_cond_t cond = API_COND_INITIALIZER, shared_cond;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;

static int calls_of(int (*call)(api_cond_t *))
{
	futex_counts = (struct futex_counts){ 0 };
	call(&cond);
	return futex_counts.all;
}

/* Signal and broadcast, with the mutex free and held. */
static int calls_for_nobody(void)
{
	int nr = calls_of(api_cond_signal) + calls_of(api_cond_broadcast);

	api_mutex_lock(&mutex);
	nr += calls_of(api_cond_signal) + calls_of(api_cond_broadcast);
	api_mutex_unlock(&mutex);
	return nr;
}

/* How many calls unblock some of NR_WAITERS waiters by @call? */
static int calls_for_many(int (*call)(api_cond_t *), bool keep)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);
	int nr;

	fixture_add(&fixture, NR_WAITERS);
	if (keep)
		api_mutex_lock(&mutex);
	nr = calls_of(call);
	if (keep)
		api_mutex_unlock(&mutex);
	api_cond_broadcast(&cond);
	fixture_end(&fixture);
	return nr;
}

static void test_nobody(const char *policy)
{
	tap_is(calls_for_nobody(), 0, "%s: nobody ever waited: no futex call",
	       policy);
	/* The library may find out now that it cannot move anybody. */
	calls_for_many(api_cond_broadcast, true);
	calls_for_many(api_cond_signal, true);
	tap_is(calls_for_nobody(), 0,
	       "%s: nobody waits any more: no futex call", policy);
}

static void test_signal(const char *policy, bool keep)
{
	tap_is(calls_for_many(api_cond_signal, keep), 1,
	       "%s: signal to %d, mutex %s: one call", policy, NR_WAITERS,
	       keep ? "held" : "free");
}

static void test_broadcast(const char *policy, bool keep)
{
	int nr = calls_for_many(api_cond_broadcast, keep);

	tap_ok(nr == 1, "%s: broadcast to %d, mutex %s: one call", policy,
	       NR_WAITERS, keep ? "held" : "free");
	tap_diag("%d calls", nr);
}

/* Waiters from before and after a signal. */
static void test_two_groups(const char *policy, bool keep)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);
	int nr;

	fixture_add_two(&fixture, NR_WAITERS / 2, NR_WAITERS / 2);
	if (keep)
		api_mutex_lock(&mutex);
	nr = calls_of(api_cond_broadcast);
	if (keep)
		api_mutex_unlock(&mutex);
	tap_ok(nr <= 2, "%s: after a signal, mutex %s: at most two", policy,
	       keep ? "held" : "free");
	tap_diag("%d calls", nr);
	fixture_end(&fixture);
}

/* After timeouts nobody waits, and the library has to notice. */
static void test_timeouts(const char *policy)
{
	struct timespec past = deadline_in(CLOCK_MONOTONIC, -1);
	int nr;

	api_mutex_lock(&mutex);
	futex_counts = (struct futex_counts){ 0 };
	api_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &past);
	nr = futex_counts.all;
	api_mutex_unlock(&mutex);
	tap_ok(nr <= 1, "%s: a wait that times out: at most one call", policy);
	tap_is(calls_for_nobody(), 0, "%s: and nobody waits: no call", policy);
}

static struct {
	int nr_calls;
	atomic_bool waiting;
	atomic_int tid;
} waiter;

static void *wait_counted(void *arg)
{
	(void)arg;
	atomic_store(&waiter.tid, blocked_gettid());
	api_mutex_lock(&mutex);
	futex_counts = (struct futex_counts){ 0 };
	atomic_store(&waiter.waiting, true);
	api_cond_wait(&cond, &mutex);
	waiter.nr_calls = futex_counts.all;
	api_mutex_unlock(&mutex);
	return NULL;
}

/* The handler that makes its call again sleeps in it just the same. */
static void test_wait(const char *policy, bool keep)
{
	pthread_t thread;

	atomic_store(&waiter.waiting, false);
	start_thread(&thread, wait_counted, NULL);
	while (!atomic_load(&waiter.waiting))
		sched_yield();
	/* Who came for the mutex meanwhile would make its unlock a call, too. */
	if (place_settled(getpid(), atomic_load(&waiter.tid), &mutex))
		tap_bail("the waiter never slept");
	signal_as(&cond, &mutex, keep);
	pthread_join(thread, NULL);
	/* Woken rather than moved, it may have to sleep on the mutex. */
	tap_ok(waiter.nr_calls <= 2, "%s: a wait, mutex %s: at most two calls",
	       policy, keep ? "held" : "free");
	tap_diag("%d calls", waiter.nr_calls);
}

static void test_all(const char *policy)
{
	int err = futex_filter_count();

	watchdog("counting calls");
	if (err) {
		for (int i = 0; i < NR_COUNTED; i++)
			tap_skip(policy, "no seccomp filters here");
		return;
	}
	test_nobody(policy);
	for (int keep = 0; keep <= 1; keep++) {
		test_signal(policy, keep);
		test_broadcast(policy, keep);
		test_two_groups(policy, keep);
		test_wait(policy, keep);
	}
	test_timeouts(policy);
}

/* The kernel kills a strict process for any call but read, write and exit. */
static _Noreturn void call_strictly(void)
{
	bool strict;

	kind_cond_init(&shared_cond, true);
	/* The library asks once for the thread's number. */
	calls_for_nobody();
	api_cond_signal(&shared_cond);
	strict = !prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	calls_for_nobody();
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
		if (waited) {
			calls_for_many(api_cond_broadcast, true);
			calls_for_many(api_cond_signal, true);
		}
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
	(void)argc;
	api_start(argv);
	if (!HANDLERS_ARE_PROMPT)
		return handlers_are_late();
	return policy_main(argv, NR_SILENT + NR_COUNTED, test);
}
