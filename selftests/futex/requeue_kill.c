// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process that is killed while its waiters are at the target of a requeue
 * leaves nothing behind, and the waiters of others stay.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tap.h"
#include "run.h"
#include "sleepers.h"

#define NR_DOOMED 8

struct shared {
	uint32_t from, to;
	atomic_int tids[NR_DOOMED];
};

static struct shared *shared;

static void *wait_for_ever(void *tid)
{
	atomic_store((atomic_int *)tid, blocked_gettid());
	sys_futex_wait(&shared->from, 0, 0, NULL);
	return NULL;
}

static _Noreturn void doomed_process(void)
{
	for (int i = 1; i < NR_DOOMED; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, wait_for_ever,
				   &shared->tids[i]))
			_exit(1);
	}
	wait_for_ever(&shared->tids[0]);
	_exit(0);
}

static pid_t start_doomed(void)
{
	pid_t pid;

	for (int i = 0; i < NR_DOOMED; i++)
		atomic_store(&shared->tids[i], 0);
	pid = fork();
	if (pid < 0)
		tap_bail("fork: %s", strerror(errno));
	if (!pid)
		doomed_process();
	for (int i = 0; i < NR_DOOMED; i++)
		if (wait_at_least(&shared->tids[i], 1) ||
		    wait_blocked(pid, atomic_load(&shared->tids[i]),
				 &shared->from))
			tap_bail("doomed waiter %d never slept", i);
	return pid;
}

/* Own waiters before and behind those of the doomed process. */
static void test_op(const struct requeue_op *op)
{
	struct sleepers sleepers = sleepers_of(2);
	int status;
	pid_t pid;

	sleepers_wait_on(&sleepers, &shared->from, 0);
	pid = start_doomed();
	sleepers_wait_on(&sleepers, &shared->from, 0);
	tap_is(op->requeue(&shared->from, &shared->to, 0, 0, INT_MAX),
	       NR_DOOMED + 2, "%s: waiters of two processes", op->name);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	tap_is(atomic_load(&sleepers.nr_returned), 0,
	       "%s: nobody else was woken", op->name);
	tap_ok(sleepers_wake_one(&sleepers, &shared->to, 0) == 0 &&
		       sleepers_wake_one(&sleepers, &shared->to, 0) == 1 &&
		       sleepers_wake_one(&sleepers, &shared->to, 0) == -1,
	       "%s: the others in line, nothing left", op->name);
	tap_is(sys_futex_wake(&shared->from, 0, INT_MAX), 0,
	       "%s: nothing at the source", op->name);
	sleepers_end(&sleepers);
}

int main(void)
{
	if (!CHILDREN_MAY_HAVE_THREADS)
		return children_have_no_threads();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		tap_bail("mmap: %s", strerror(errno));
	return requeue_main(test_op, 4);
}
