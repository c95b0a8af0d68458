/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * watchdog.h - a lost wakeup ends the program with a report
 *
 *	watchdog("rounds of broadcasts");	// again for every stage
 *
 * What was announced last has to be over within a minute of time on the wall,
 * which is a thousand times what any stage needs. A program that can say what
 * its threads are about sets watchdog_report, and one that has a better idea of
 * how long is too long watchdog_seconds.
 */
#ifndef DROVER_SELFTESTS_WATCHDOG_H
#define DROVER_SELFTESTS_WATCHDOG_H

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

#define WATCHDOG_SECONDS 60

static const char *volatile watchdog_stage;
static unsigned int watchdog_seconds = WATCHDOG_SECONDS;
static void (*volatile watchdog_report)(void);

static inline void watchdog_write(const char *text)
{
	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		_exit(TAP_FAIL);
}

static inline void watchdog_bite(int signal)
{
	/* Whatever the report does, the next one ends it. */
	sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	alarm(WATCHDOG_SECONDS);
	watchdog_write("Bail out! hangs in: ");
	watchdog_write(watchdog_stage);
	watchdog_write("\n");
	if (watchdog_report)
		watchdog_report();
	_exit(TAP_FAIL);
}

static inline void watchdog(const char *stage)
{
	const struct sigaction action = {
		.sa_handler = watchdog_bite,
		.sa_flags = SA_NODEFER,
	};

	watchdog_stage = stage;
	sigaction(SIGALRM, &action, NULL);
	alarm(watchdog_seconds);
}

#endif /* DROVER_SELFTESTS_WATCHDOG_H */
