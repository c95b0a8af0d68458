// SPDX-License-Identifier: MIT
/* Three threads wait for one event, which is announced by one signal. */
#include "stuck.h"

#define NR 3

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t configured = PTHREAD_COND_INITIALIZER;
static bool is_configured;
static atomic_int tids[NR];

static void *worker(void *arg)
{
	atomic_int *tid = arg;

	pthread_mutex_lock(&mutex);
	atomic_store(tid, own_tid());
	while (!is_configured)
		pthread_cond_wait(&configured, &mutex);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

int main(void)
{
	pthread_t threads[NR];

	watch();
	for (int i = 0; i < NR; i++) {
		threads[i] = start(worker, &tids[i], "worker");
		wait_sleeps(&tids[i]);
	}
	pthread_mutex_lock(&mutex);
	is_configured = true;
	pthread_cond_signal(&configured);
	pthread_mutex_unlock(&mutex);
	soon_stuck(NR);
	for (int i = 0; i < NR; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
