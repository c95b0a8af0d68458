// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiters that are moved and do not wait for a plain wake: those that wait on
 * several futexes at once, for a PI futex, or with a deadline; and those that
 * are interrupted or killed where they were moved to.
 *
 * A waiter for a PI futex in the line of an ordinary requeue is a mistake of
 * the program: EINVAL. Those in line before it have been woken and moved by
 * then, it and those behind it are left where they are.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "steps.h"

#define NR_DOOMED 8

/* The first of the two entries is of another futex. */
static struct futex_waitv vector[2];

static long wait_on_vector(struct waiter *waiter)
{
	return sys_futex_waitv(vector, 2, NULL, CLOCK_MONOTONIC);
}

STEP(vector)
{
	const enum futex_word word[] = { SECOND, FROM };

	for (int i = 0; i < 2; i++) {
		vector[i].uaddr = (uintptr_t)&futexes[word[i]];
		vector[i].flags = FUTEX2_SIZE_U32 | FUTEX2_PRIVATE;
	}
	sleepers_asleep(sleepers_start(
		&sleepers,
		&(struct waiter){ .futex = vector, .call = wait_on_vector }));
	return 0;
}

static long wait_for_pi(struct waiter *waiter)
{
	long ret = sys_futex_wait_requeue_pi(waiter->futex, &futexes[PI], flags,
					     0, NULL);

	if (!ret)
		sys_futex_unlock_pi(&futexes[PI], flags);
	return ret;
}

STEP(wait_pi)
{
	sleepers_asleep(sleepers_start(
		&sleepers, &(struct waiter){ .futex = &futexes[args[0]],
					     .call = wait_for_pi }));
	return 0;
}

/* requeue_pi WORD WORD WAKE MOVE */
STEP(requeue_pi)
{
	return sys_futex_cmp_requeue_pi(&futexes[args[0]], &futexes[args[1]],
					flags, args[2], args[3], 0);
}

static atomic_int nr_handled;

static void handle(int signal)
{
	nr_handled++;
}

/* interrupt NUMBER RESTARTS */
STEP(interrupt)
{
	const struct sigaction action = {
		.sa_handler = handle,
		.sa_flags = args[1] ? SA_RESTART : 0,
	};

	sigaction(SIGUSR1, &action, NULL);
	nr_handled = 0;
	pthread_kill(sleepers.waiters[args[0]].thread, SIGUSR1);
	reached(&nr_handled, 1);
	return 0;
}

STEP(asleep)
{
	sleepers_asleep(&sleepers.waiters[args[0]]);
	return 0;
}

static int64_t timeout_ns;

/* timed WORD: it may be over before that is seen. */
STEP(timed)
{
	static struct timespec deadline;
	struct waiter *waiter;

	deadline = deadline_in(CLOCK_MONOTONIC, timeout_ns);
	waiter = sleepers_start(&sleepers,
				&(struct waiter){ .futex = &futexes[args[0]],
						  .flags = flags,
						  .deadline = &deadline });
	while (!blocked_in_futex(getpid(), waiter->tid, waiter->futex) &&
	       waiter->turn < 0)
		sched_yield();
	return 0;
}

/* Threads of a process that is to be killed. */
static atomic_int *tids;
static pid_t doomed;

static void *wait_for_ever(void *tid)
{
	atomic_store((atomic_int *)tid, blocked_gettid());
	sys_futex_wait(&futexes[FROM], flags, 0, NULL);
	return NULL;
}

STEP(wait_doomed)
{
	pthread_t thread;

	memset(tids, 0, NR_DOOMED * sizeof(*tids));
	doomed = fork();
	if (doomed < 0)
		tap_bail("fork: %s", strerror(errno));
	for (int i = 1; !doomed && i < NR_DOOMED; i++)
		start_thread(&thread, wait_for_ever, &tids[i]);
	if (!doomed) {
		wait_for_ever(&tids[0]);
		_exit(0);
	}
	for (int i = 0; i < NR_DOOMED; i++)
		if (wait_at_least(&tids[i], 1) ||
		    wait_blocked(doomed, atomic_load(&tids[i]), futexes))
			tap_bail("doomed waiter %d never slept", i);
	return args[0];
}

STEP(kill)
{
	kill(doomed, SIGKILL);
	waitpid(doomed, NULL, 0);
	return args[0];
}

enum needs {
	NOTHING,
	WAITV,
	HANDLERS,
	PROCESSES,
};

static const struct scene {
	enum needs needs;
	const char *name;
	const char *steps;
} scenes[] = {
	{ WAITV, "futex_waitv, woken at the target: the entry that was moved",
	  "vector; requeue from to 0 max = 1; one from = -1; all to = 1;"
	  "result 0 = 1; one second = -1" },
	{ WAITV, "futex_waitv, woken elsewhere: nothing is left at the target",
	  "vector; requeue from to 0 max = 1; all second = 1; result 0 = 0;"
	  "one to = -1" },
	{ WAITV, "futex_waitv, woken by the requeue: who is behind it is moved",
	  "vector; wait from; requeue from to 1 max = 2; gone 1; result 0 = 1;"
	  "all to = 1" },
	{ NOTHING, "a PI waiter in mid-line",
	  "wait from 3; wait_pi from; wait from 2;"
	  "requeue from to 1 max = -EINVAL; gone 1; turn 0 = 0; all to = 2;"
	  "requeue_pi from pi 1 0 = 1; gone 4; result 3 = 0; all from = 2" },
	{ NOTHING, "a PI waiter that is not reached",
	  "wait from 2; wait_pi from; requeue from to 1 1 = 2; gone 1;"
	  "all to = 1; requeue_pi from pi 1 0 = 1; gone 3; result 2 = 0" },
	{ NOTHING, "a plain waiter where a PI waiter is expected",
	  "wait from; requeue_pi from pi 1 0 = -EINVAL; all from = 1" },
	{ HANDLERS, "EINTR: the others stay in line",
	  "wait from 3; requeue from to 0 max = 3; interrupt 1 0; gone 1;"
	  "result 1 = -EINTR; one to = 0; one to = 2; one to = -1" },
	{ HANDLERS, "SA_RESTART: it sleeps at the source again",
	  "wait from; requeue from to 0 1 = 1; interrupt 0; asleep 0;"
	  "one to = -1; all from = 1; result 0 = 0" },
	{ HANDLERS, "SA_RESTART: and compares the word again",
	  "wait from; requeue from to 0 1 = 1; set from 1; interrupt 0; gone 1;"
	  "set from 0; result 0 = -EAGAIN" },
	{ PROCESSES, "a process is killed: the others are in line",
	  "wait from; wait_doomed; wait from; requeue from to 0 max = 10; kill;"
	  "returned = 0; one to = 0; one to = 1; one to = -1; one from = -1" },
};

static const char *why_not(enum needs needs)
{
	if (needs == WAITV && variant_is_host() &&
	    sys_futex_waitv(NULL, 0, NULL, 0) == -ENOSYS)
		return "not in this kernel";
	if (needs == HANDLERS && !HANDLERS_ARE_PROMPT)
		return "ThreadSanitizer holds handlers back";
	if (needs == PROCESSES && !CHILDREN_MAY_HAVE_THREADS)
		return "ThreadSanitizer ends the child";
	return NULL;
}

/* Those of a process are shared. */
static void use_memory(enum needs needs)
{
	static uint32_t *shared;

	if (!shared)
		shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		tap_bail("mmap: %s", strerror(errno));
	flags = needs == PROCESSES ? 0 : FUTEX_PRIVATE_FLAG;
	futexes = needs == PROCESSES ? shared : own_words;
	aliases = futexes;
	tids = (atomic_int *)(shared + NR_WORDS);
}

/* Between two without a deadline, moved before its time is up. */
static bool times_out(void)
{
	sleepers = sleepers_of(3);
	steps_do("wait from; timed from; wait from");
	if (do_requeue((long[]){ FROM, TO, 0, INT_MAX }) == 3)
		return true;
	steps_do("gone 1; all to; all from");
	sleepers_end(&sleepers);
	return false;
}

static void test_timeout(void)
{
	bool ok;

	timeout_ns = 20 * NS_PER_MS;
	for (; !times_out(); timeout_ns *= 2)
		if (timeout_ns > 20 * NS_PER_S)
			tap_bail("%s: never moved in time", op->name);
	ok = steps_do("gone 1; result 1 = -ETIMEDOUT; all from = 0;"
		      "all to = 2");
	sleepers_end(&sleepers);
	tap_ok(ok, "%s: ETIMEDOUT, once, and nothing is left", op->name);
}

static void test_op(const struct requeue_op *which)
{
	op = which;
	for (int i = 0; i < NR_OF(scenes); i++) {
		const char *why = why_not(scenes[i].needs);

		use_memory(scenes[i].needs);
		if (why)
			tap_skip(scenes[i].name, why);
		else
			tap_ok(steps_hold(scenes[i].steps), "%s: %s", op->name,
			       scenes[i].name);
	}
	use_memory(NOTHING);
	test_timeout();
}

int main(void)
{
	return requeue_main(test_op, NR_OF(scenes) + 1);
}
