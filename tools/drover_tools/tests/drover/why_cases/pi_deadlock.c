// SPDX-License-Identifier: MIT
/*
 * Two PI mutexes in opposite order. The kernel notices the deadlock, and the C
 * library puts the second thread to sleep for ever. Main waits for input.
 */
#include "crossing.h"

int main(void)
{
	pthread_mutexattr_t attr;
	int ends[2];
	char byte;

	watch();
	CHECK(!pipe(ends));
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&first, &attr);
	pthread_mutex_init(&second, &attr);
	start_crossing();
	soon_stuck(3);
	return read(ends[0], &byte, 1) < 0;
}
