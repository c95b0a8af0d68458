// SPDX-License-Identifier: MIT
/* A pause is a yield at first, and later a short sleep. */
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/pause.h"

void thread_pause(unsigned int nr_before)
{
	const struct timespec ts = { .tv_nsec = 50000 };
	int saved = errno;

	/* nanosleep() would be a cancellation point. */
	if (nr_before < 16 || syscall(SYS_nanosleep, &ts, NULL))
		sched_yield();
	errno = saved;
}
