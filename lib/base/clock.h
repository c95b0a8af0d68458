/* SPDX-License-Identifier: MIT */
/* The time, in nanoseconds. */
#ifndef DROVER_CLOCK_H
#define DROVER_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_US INT64_C(1000)
#define NS_PER_S  INT64_C(1000000000)

static inline int64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

#endif /* DROVER_CLOCK_H */
