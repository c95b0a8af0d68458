// SPDX-License-Identifier: MIT
/* The first thread has ended; the others take two mutexes in opposite order. */
#include "stuck.h"

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

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
	watch();
	pthread_barrier_init(&both, NULL, 2);
	start(forwards, NULL, "forwards");
	start(backwards, NULL, "backwards");
	soon_stuck(2);
	pthread_exit(NULL);
}
