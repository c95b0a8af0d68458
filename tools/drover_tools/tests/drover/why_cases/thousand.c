// SPDX-License-Identifier: MIT
/* A thousand threads that wait for news: nothing is wrong. */
#include "stuck.h"

#define NR 1000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;

static void *listener(void *arg)
{
	pthread_mutex_lock(&mutex);
	for (;;)
		pthread_cond_wait(&news, &mutex);
	return NULL;
}

int main(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	watch();
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (int i = 0; i < NR; i++)
		CHECK(!pthread_create(&thread, &attr, listener, NULL));
	soon_stuck(NR + 1);
	return pause();
}
