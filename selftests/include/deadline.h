/* SPDX-License-Identifier: GPL-2.0-only */
/* deadline.h - absolute times for timed waits */
#ifndef DROVER_SELFTESTS_DEADLINE_H
#define DROVER_SELFTESTS_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)

/* deadline_in - the time on @clock in @ns nanoseconds, negative: in the past */
static inline struct timespec deadline_in(clockid_t clock, int64_t ns)
{
	struct timespec now;

	clock_gettime(clock, &now);
	ns += now.tv_nsec;
	now.tv_sec += ns / NS_PER_S;
	now.tv_nsec = ns % NS_PER_S;
	if (now.tv_nsec < 0) {
		now.tv_nsec += NS_PER_S;
		now.tv_sec--;
	}
	return now;
}

static inline bool deadline_passed(clockid_t clock,
				   const struct timespec *deadline)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec > deadline->tv_sec ||
	       (now.tv_sec == deadline->tv_sec &&
		now.tv_nsec >= deadline->tv_nsec);
}

#endif /* DROVER_SELFTESTS_DEADLINE_H */
