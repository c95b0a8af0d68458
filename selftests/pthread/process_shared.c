// SPDX-License-Identifier: GPL-2.0-only
/*
 * A condvar and a mutex in memory that several processes share, each at an
 * address of its own. That some are killed is for killed_peers.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "fixture.h"
#include "run.h"

#define NR_WAITERS 4

struct shared {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	atomic_int nr_handled;
	/* Under the mutex. */
	int nr_waiting;
	int nr_returned;
	int nr_errors;
};

static struct shared *shared;
static int memory; /* its file */
static pid_t pids[NR_WAITERS];

static struct shared *map_shared(void)
{
	struct shared *map = mmap(NULL, sizeof(*map), PROT_READ | PROT_WRITE,
				  MAP_SHARED, memory, 0);

	if (map == MAP_FAILED)
		tap_bail("mmap: %s", strerror(errno));
	return map;
}

static void make_shared(void)
{
	memory = memfd_create("process_shared", MFD_CLOEXEC);
	if (memory < 0 || ftruncate(memory, sizeof(*shared)))
		tap_bail("memfd_create: %s", strerror(errno));
	shared = map_shared();
	if (kind_mutex_init(&shared->mutex, kind_named("normal"), true) ||
	    kind_cond_init(&shared->cond, true))
		tap_bail("init");
}

static void handle(int signal)
{
	atomic_fetch_add(&shared->nr_handled, 1);
}

/* Elsewhere than in the parent, whose mapping goes. */
static _Noreturn void waiting_process(void)
{
	const struct sigaction action = { .sa_handler = handle };
	struct shared *here = map_shared();
	int err;

	munmap(shared, sizeof(*shared));
	shared = here;
	sigaction(SIGUSR1, &action, NULL);
	watchdog("a waiting process");
	pthread_mutex_lock(&here->mutex);
	here->nr_waiting++;
	err = pthread_cond_wait(&here->cond, &here->mutex);
	here->nr_returned++;
	here->nr_errors += err != 0;
	pthread_mutex_unlock(&here->mutex);
	_exit(0);
}

static int locked(const int *number)
{
	int value;

	pthread_mutex_lock(&shared->mutex);
	value = *number;
	pthread_mutex_unlock(&shared->mutex);
	return value;
}

static void wait_until(const int *number, int value)
{
	while (locked(number) < value)
		sched_yield();
}

/* NR_WAITERS processes, asleep in their waits. */
static void start_waiters(void)
{
	shared->nr_waiting = 0;
	shared->nr_returned = 0;
	shared->nr_errors = 0;
	for (int i = 0; i < NR_WAITERS; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			tap_bail("fork: %s", strerror(errno));
		if (!pids[i])
			waiting_process();
	}
	wait_until(&shared->nr_waiting, NR_WAITERS);
	for (int i = 0; i < NR_WAITERS; i++)
		if (place_settled(pids[i], pids[i], NULL))
			tap_bail("waiter %d never slept", i);
}

static int nr_asleep(void)
{
	int nr = 0;

	for (int i = 0; i < NR_WAITERS; i++)
		nr += place_of(pids[i], pids[i], NULL) == AT_COND;
	return nr;
}

static bool has_ended(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == pid;
}

/* Let all who wait look up; without a signal they must go on waiting. */
static void interrupt_waiters(void)
{
	int nr = 0;

	atomic_store(&shared->nr_handled, 0);
	for (int i = 0; i < NR_WAITERS; i++) {
		if (place_of(pids[i], pids[i], NULL) == AT_COND) {
			kill(pids[i], SIGUSR1);
			nr++;
		}
	}
	if (wait_at_least(&shared->nr_handled, nr))
		tap_bail("a signal was never handled");
	for (int i = 0; i < NR_WAITERS; i++)
		while (place_of(pids[i], pids[i], NULL) == AWAKE &&
		       !has_ended(pids[i]))
			sched_yield();
}

static void end_waiters(void)
{
	int status;

	for (int i = 0; i < NR_WAITERS; i++)
		waitpid(pids[i], &status, 0);
}

static void test_signals(const char *policy, bool keep)
{
	bool exact = true;

	start_waiters();
	for (int i = 1; i <= NR_WAITERS; i++) {
		signal_as(&shared->cond, &shared->mutex, keep);
		wait_until(&shared->nr_returned, i);
		interrupt_waiters();
		exact = exact && nr_asleep() == NR_WAITERS - i &&
			locked(&shared->nr_returned) == i;
	}
	end_waiters();
	tap_ok(exact && !shared->nr_errors,
	       "%s: a signal, mutex %s, returns one", policy,
	       keep ? "held" : "free");
}

static void test_broadcast(const char *policy, bool keep)
{
	start_waiters();
	broadcast_as(&shared->cond, &shared->mutex, keep);
	end_waiters();
	tap_ok(shared->nr_returned == NR_WAITERS && !shared->nr_errors,
	       "%s: a broadcast, mutex %s, returns all", policy,
	       keep ? "held" : "free");
}

/* destroy() returns when nobody will touch it any more: it is overwritten. */
static void test_destroy(const char *policy)
{
	start_waiters();
	pthread_mutex_lock(&shared->mutex);
	pthread_cond_broadcast(&shared->cond);
	pthread_cond_destroy(&shared->cond);
	memset(&shared->cond, 0xff, sizeof(shared->cond));
	pthread_mutex_unlock(&shared->mutex);
	end_waiters();
	tap_ok(shared->nr_returned == NR_WAITERS && !shared->nr_errors,
	       "%s: destroyed at once, all return", policy);
	for (size_t i = 0; i < sizeof(shared->cond); i++)
		if (((unsigned char *)&shared->cond)[i] != 0xff)
			shared->nr_errors++;
	tap_is(shared->nr_errors, 0, "%s: and nobody touched it since", policy);
	kind_cond_init(&shared->cond, true);
}

static void test_timeout(const char *policy)
{
	struct timespec past = deadline_in(CLOCK_MONOTONIC, -1);
	int result;

	start_waiters();
	pthread_mutex_lock(&shared->mutex);
	result = pthread_cond_clockwait(&shared->cond, &shared->mutex,
					CLOCK_MONOTONIC, &past);
	pthread_mutex_unlock(&shared->mutex);
	tap_is(result, ETIMEDOUT, "%s: a timeout beside other processes",
	       policy);
	tap_is(nr_asleep(), NR_WAITERS, "%s: which still wait", policy);
	pthread_cond_broadcast(&shared->cond);
	end_waiters();
}

static void test(const char *policy)
{
	watchdog("process-shared condvars");
	make_shared();
	for (int keep = 0; keep <= 1; keep++) {
		test_signals(policy, keep);
		test_broadcast(policy, keep);
	}
	test_destroy(policy);
	test_timeout(policy);
	munmap(shared, sizeof(*shared));
	close(memory);
}

int main(int argc, char **argv)
{
	drop_in_load(argv);
	return policy_main(argv, 8, test);
}
