// SPDX-License-Identifier: MIT
/* The signal comes before the wait, which tests no condition. */
#include "stuck.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t started = PTHREAD_COND_INITIALIZER;

static void *service(void *arg)
{
	pthread_cond_signal(&started);
	return NULL;
}

int main(void)
{
	watch();
	pthread_join(start(service, NULL, "service"), NULL);
	soon_stuck(1);
	pthread_mutex_lock(&mutex);
	pthread_cond_wait(&started, &mutex);
	pthread_mutex_unlock(&mutex);
	return 0;
}
