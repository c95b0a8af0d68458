// SPDX-License-Identifier: MIT
/* Two threads take two mutexes in opposite order. */
#include "stuck.h"

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *transfer(void *arg)
{
	pthread_mutex_lock(&accounts);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&journal);
	return NULL;
}

static void *audit(void *arg)
{
	pthread_mutex_lock(&journal);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&accounts);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	watch();
	pthread_barrier_init(&both, NULL, 2);
	thread = start(transfer, NULL, "transfer");
	start(audit, NULL, "audit");
	soon_stuck(3);
	pthread_join(thread, NULL);
	return 0;
}
