// SPDX-License-Identifier: MIT
/*
 * Two PI mutexes in opposite order. The kernel sees it, and the C library puts
 * the second thread to sleep for ever. Main goes on waiting for input.
 */
#include "stuck.h"

static pthread_mutex_t first, second;
static pthread_barrier_t both;
static int ends[2];

static void *forwards(void *arg)
{
	pthread_mutex_lock(&first);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&second);
	return NULL;
}

static void *backwards(void *arg)
{
	pthread_mutex_lock(&second);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&first);
	return NULL;
}

int main(void)
{
	pthread_mutexattr_t attr;
	char byte;

	watch();
	CHECK(!pipe(ends));
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&first, &attr);
	pthread_mutex_init(&second, &attr);
	pthread_barrier_init(&both, NULL, 2);
	start(forwards, NULL, "forwards");
	start(backwards, NULL, "backwards");
	soon_stuck(3);
	return read(ends[0], &byte, 1) < 0;
}
