// SPDX-License-Identifier: MIT
/* A semaphore that no thread posts. */
#include "stuck.h"

#include <semaphore.h>

static sem_t items;

static void *consumer(void *arg)
{
	while (sem_wait(&items))
		;
	return NULL;
}

int main(void)
{
	pthread_t thread;

	watch();
	sem_init(&items, 0, 0);
	thread = start(consumer, NULL, "consumer");
	soon_stuck(2);
	pthread_join(thread, NULL);
	return 0;
}
