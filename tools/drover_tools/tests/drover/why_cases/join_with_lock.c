// SPDX-License-Identifier: MIT
/* A thread joins another one while it holds the mutex that the other needs. */
#include "stuck.h"

static pthread_mutex_t state = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *arg)
{
	pthread_mutex_lock(&state);
	pthread_mutex_unlock(&state);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	watch();
	pthread_mutex_lock(&state);
	thread = start(worker, NULL, "worker");
	soon_stuck(2);
	pthread_join(thread, NULL);
	pthread_mutex_unlock(&state);
	return 0;
}
