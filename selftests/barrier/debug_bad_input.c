// SPDX-License-Identifier: GPL-2.0-only
/*
 * A debug build says what a caller does wrong with a barrier, and aborts: no
 * barrier, one that was destroyed, one with threads that wait, destroyed.
 */
#include <drover/barrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "blocked.h"
#include "tap.h"
#include "watchdog.h"

static drover_barrier_t barrier;
static atomic_int tid;

/* Read where the compiler does not look. */
static void *volatile no_memory;

static void *wait_for_ever(void *arg)
{
	atomic_store(&tid, blocked_gettid());
	drover_barrier_wait(&barrier);
	return arg;
}

static void with_sleeper(unsigned int count)
{
	pthread_t thread;

	drover_barrier_init(&barrier, count, NULL);
	if (pthread_create(&thread, NULL, wait_for_ever, NULL) ||
	    wait_at_least(&tid, 1) || wait_blocked(getpid(), tid, NULL))
		tap_bail("it does not sleep");
}

static void destroy_pair(void)
{
	with_sleeper(2);
	drover_barrier_destroy(&barrier);
}

static void destroy_more(void)
{
	with_sleeper(3);
	drover_barrier_destroy(&barrier);
}

static void destroy_twice(void)
{
	drover_barrier_init(&barrier, 2, NULL);
	drover_barrier_destroy(&barrier);
	drover_barrier_destroy(&barrier);
}

static void wait_at_none(void)
{
	drover_barrier_wait(&barrier);
}

static void arrive_at_none(void)
{
	drover_barrier_arrive(&barrier, 1, NULL);
}

static void drop_from_none(void)
{
	drover_barrier_arrive_and_drop(&barrier);
}

static void count_none(void)
{
	drover_barrier_set_count(&barrier, 2);
}

static void wait_at_null(void)
{
	drover_barrier_wait(no_memory);
}

static void wait_unaligned(void)
{
	drover_barrier_wait((drover_barrier_t *)((char *)&barrier + 1));
}

static const struct misuse {
	void (*call)(void);
	const char *says; /* in the message */
} misuses[] = {
	{ destroy_pair, "drover_barrier_destroy(): barrier" },
	{ destroy_pair, "has threads waiting" },
	{ destroy_more, "has threads waiting" },
	{ destroy_twice, "was never initialised, or is destroyed" },
	{ wait_at_none, "drover_barrier_wait(): barrier" },
	{ wait_at_none, "was never initialised, or is destroyed" },
	{ arrive_at_none, "was never initialised, or is destroyed" },
	{ drop_from_none, "was never initialised, or is destroyed" },
	{ count_none, "was never initialised, or is destroyed" },
	{ wait_at_null, "is NULL" },
	{ wait_unaligned, "is not aligned" },
};

#define NR_MISUSES ((int)(sizeof(misuses) / sizeof(misuses[0])))

/* What it says before it aborts; empty if it does not. */
static void message_of(const struct misuse *misuse, char text[], size_t size)
{
	const struct rlimit no_core = { 0, 0 };
	int ends[2], status;
	ssize_t len;
	pid_t pid;

	if (pipe(ends))
		tap_bail("pipe");
	pid = fork();
	if (pid == 0) {
		watchdog("in the child");
		setrlimit(RLIMIT_CORE, &no_core);
		dup2(ends[1], STDERR_FILENO);
		misuse->call();
		_exit(0);
	}
	close(ends[1]);
	len = read(ends[0], text, size - 1);
	close(ends[0]);
	text[len > 0 ? len : 0] = '\0';
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) ||
	    WTERMSIG(status) != SIGABRT)
		text[0] = '\0';
}

int main(void)
{
	tap_plan(NR_MISUSES);
	watchdog("bad input");
	for (int i = 0; i < NR_MISUSES; i++) {
		const char *says = misuses[i].says;
		char text[512];

		message_of(&misuses[i], text, sizeof(text));
		if (!tap_ok(strstr(text, "drover: ") && strstr(text, says),
			    "says \"%s\", and aborts", says))
			tap_diag("it said: %s", text);
	}
	return tap_exit();
}
