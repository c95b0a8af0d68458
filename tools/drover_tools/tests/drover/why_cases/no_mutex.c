// SPDX-License-Identifier: MIT
/* The condition changes without the mutex, between the test and the wait. */
#include "stuck.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static atomic_bool ready, looked, signalled;

/* As a scheduler may do: the consumer tests, and is preempted. */
static bool not_ready(void)
{
	bool result = !atomic_load(&ready);

	atomic_store(&looked, true);
	while (!atomic_load(&signalled))
		sched_yield();
	return result;
}

static void *produce(void *arg)
{
	while (!atomic_load(&looked))
		sched_yield();
	atomic_store(&ready, true);
	pthread_cond_signal(&changed);
	atomic_store(&signalled, true);
	return NULL;
}

static void *consume(void *arg)
{
	pthread_mutex_lock(&mutex);
	while (not_ready())
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	watch();
	thread = start(consume, NULL, "consume");
	pthread_join(start(produce, NULL, "produce"), NULL);
	soon_stuck(2);
	pthread_join(thread, NULL);
	return 0;
}
