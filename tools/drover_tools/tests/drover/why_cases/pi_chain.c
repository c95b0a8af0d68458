// SPDX-License-Identifier: MIT
/* A chain of PI mutexes, whose last holder sleeps. */
#include "stuck.h"

#define NR 3

static pthread_mutex_t mutexes[NR];
static atomic_int tids[NR];

static void *next_link(void *arg)
{
	long number = (long)arg;

	pthread_mutex_lock(&mutexes[number]);
	atomic_store(&tids[number], own_tid());
	if (number)
		pthread_mutex_lock(&mutexes[number - 1]);
	else
		sleep(1000);
	return NULL;
}

int main(void)
{
	pthread_mutexattr_t attr;
	pthread_t thread = 0;

	watch();
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	for (long i = 0; i < NR; i++) {
		pthread_mutex_init(&mutexes[i], &attr);
		CHECK(!pthread_create(&thread, NULL, next_link, (void *)i));
		wait_sleeps(&tids[i]);
	}
	soon_stuck(NR + 1);
	pthread_join(thread, NULL);
	return 0;
}
