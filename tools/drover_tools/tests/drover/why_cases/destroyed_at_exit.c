// SPDX-License-Identifier: MIT
/* main() returns, and destroys a condition variable on which a thread waits. */
#include "stuck.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static atomic_int waits;

static void *worker(void *arg)
{
	pthread_mutex_lock(&mutex);
	atomic_store(&waits, own_tid());
	pthread_cond_wait(&work, &mutex);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

/* As the destructor of a static std::condition_variable does. */
__attribute__((destructor)) static void at_exit(void)
{
	if (!atomic_load(&waits)) /* the process that watches */
		return;
	soon_stuck(2);
	pthread_cond_destroy(&work);
}

int main(void)
{
	watch();
	start(worker, NULL, "worker");
	wait_sleeps(&waits);
	return 0;
}
