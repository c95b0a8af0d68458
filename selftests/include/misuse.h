/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * misuse.h - what a debug build says before it aborts
 *
 *	misuse_test(&(struct misuse){ NULL, signal_null, "is NULL" });	// 1 result
 *
 * Each is done in a child.
 */
#ifndef DROVER_SELFTESTS_MISUSE_H
#define DROVER_SELFTESTS_MISUSE_H

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"
#include "watchdog.h"

struct misuse {
	void (*begin)(void); /* or NULL */
	void (*call)(void);
	const char *says; /* in the message */
};

static inline _Noreturn void misuse_do(const struct misuse *misuse, int err)
{
	const struct rlimit no_core = { 0, 0 };

	watchdog("in the child");
	setrlimit(RLIMIT_CORE, &no_core);
	dup2(err, STDERR_FILENO);
	if (misuse->begin)
		misuse->begin();
	misuse->call();
	_exit(0);
}

/* What it says before it aborts; empty if it does not. */
static inline void misuse_message(const struct misuse *misuse, char text[],
				  size_t size)
{
	int ends[2], status;
	ssize_t len;
	pid_t pid;

	if (pipe(ends))
		tap_bail("pipe");
	pid = fork();
	if (pid == 0)
		misuse_do(misuse, ends[1]);
	close(ends[1]);
	len = read(ends[0], text, size - 1);
	close(ends[0]);
	text[len > 0 ? len : 0] = '\0';
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) ||
	    WTERMSIG(status) != SIGABRT)
		text[0] = '\0';
}

static inline void misuse_test(const struct misuse *misuse)
{
	char text[512];

	misuse_message(misuse, text, sizeof(text));
	if (!tap_ok(strstr(text, "drover: ") && strstr(text, misuse->says),
		    "says \"%s\", and aborts", misuse->says))
		tap_diag("it said: %s", text);
}

#endif /* DROVER_SELFTESTS_MISUSE_H */
