/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * watchdog.h - a lost wakeup ends the program with a report
 *
 *	watchdog("rounds of broadcasts");	// again for every stage
 *
 * What was announced last has to be over within a minute of time on the wall,
 * which is a thousand times what any stage needs. A program that can say what
 * its threads are about sets watchdog_report, and one that has a better idea of
 * how long is too long watchdog_seconds. If the end of the minute is itself
 * noticed late, the process was stopped or the machine has no time for it: then
 * the minute begins again.
 */
#ifndef DROVER_SELFTESTS_WATCHDOG_H
#define DROVER_SELFTESTS_WATCHDOG_H

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

#define WATCHDOG_SECONDS 60
#define WATCHDOG_LATE	 INT64_C(1000000000)

static const char *volatile watchdog_stage;
static unsigned int watchdog_seconds = WATCHDOG_SECONDS;
static void (*volatile watchdog_report)(void);
static volatile int64_t watchdog_due;

static inline int64_t watchdog_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static inline void watchdog_start(void)
{
	watchdog_due = watchdog_now() + watchdog_seconds * INT64_C(1000000000);
	alarm(watchdog_seconds);
}

static inline void watchdog_write(const char *text)
{
	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		_exit(TAP_FAIL);
}

static inline void watchdog_bite(int signal)
{
	if (watchdog_now() > watchdog_due + WATCHDOG_LATE) {
		watchdog_start();
		return;
	}
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
		.sa_flags = SA_NODEFER | SA_RESTART,
	};

	watchdog_stage = stage;
	sigaction(SIGALRM, &action, NULL);
	watchdog_start();
}

#endif /* DROVER_SELFTESTS_WATCHDOG_H */
