/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sandbox.h - tests in processes of their own, which get a seccomp filter
 *
 *	static void begin(void)
 *	{
 *		sandbox_has(futex_filter_refuse(sandbox_error));
 *	}
 *
 *	struct sandbox_test test = { "broadcast", broadcast };
 *	sandbox_run("auto", &test, EPERM, begin);	// one result
 *
 * What the library finds out about the kernel it remembers, so each test has to
 * find out for itself.
 */
#ifndef DROVER_SELFTESTS_SANDBOX_H
#define DROVER_SELFTESTS_SANDBOX_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"
#include "watchdog.h"

/* What a child says by its exit status. */
enum sandbox_outcome {
	SANDBOX_HELD,
	SANDBOX_VIOLATED,
	SANDBOX_ABSENT,
};

struct sandbox_test {
	const char *name;
	bool (*run)(void); /* in the child: does it hold? */
};

/* In the child: what the filter is to answer. */
static int sandbox_error;

/* sandbox_has - @err is what installing a filter came to */
static inline void sandbox_has(int err)
{
	if (err)
		_exit(SANDBOX_ABSENT);
}

static inline _Noreturn void sandbox_child(const struct sandbox_test *test,
					   int error, void (*begin)(void))
{
	watchdog(test->name);
	sandbox_error = error;
	begin();
	_exit(test->run() ? SANDBOX_HELD : SANDBOX_VIOLATED);
}

static inline void sandbox_run(const char *what,
			       const struct sandbox_test *test, int error,
			       void (*begin)(void))
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		tap_bail("fork: %s", strerror(errno));
	if (!pid)
		sandbox_child(test, error, begin);
	if (waitpid(pid, &status, 0) != pid)
		tap_bail("waitpid: %s", strerror(errno));
	if (WIFEXITED(status) && WEXITSTATUS(status) == SANDBOX_ABSENT)
		tap_skip(test->name, "this kernel has no seccomp filters");
	else
		tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == SANDBOX_HELD,
		       "%s: %s: %s", what, strerror(error), test->name);
}

#endif /* DROVER_SELFTESTS_SANDBOX_H */
