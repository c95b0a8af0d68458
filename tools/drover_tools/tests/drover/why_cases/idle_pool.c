// SPDX-License-Identifier: MIT
/* A pool that has nothing to do: nothing is wrong. */
#include "stuck.h"

#define NR 8

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queued = PTHREAD_COND_INITIALIZER;
static int ends[2];

static void *pool_worker(void *arg)
{
	pthread_mutex_lock(&mutex);
	for (;;)
		pthread_cond_wait(&queued, &mutex);
	return NULL;
}

int main(void)
{
	char byte;

	watch();
	CHECK(!pipe(ends));
	for (int i = 0; i < NR; i++)
		start(pool_worker, NULL, "pool worker");
	soon_stuck(NR + 1);
	return read(ends[0], &byte, 1) < 0; /* the next request */
}
