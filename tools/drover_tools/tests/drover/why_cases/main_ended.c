// SPDX-License-Identifier: MIT
/* The first thread has ended; the others take two mutexes in opposite order. */
#include "crossing.h"

int main(void)
{
	watch();
	start_crossing();
	soon_stuck(2);
	pthread_exit(NULL);
}
