// SPDX-License-Identifier: MIT
/* A thread waits while it holds another lock, which the signaller needs. */
#include "stuck.h"

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static atomic_int takes;

static void *take(void *arg)
{
	pthread_mutex_lock(&outer);
	pthread_mutex_lock(&queue_lock);
	atomic_store(&takes, own_tid());
	pthread_cond_wait(&not_empty, &queue_lock);
	pthread_mutex_unlock(&queue_lock);
	pthread_mutex_unlock(&outer);
	return NULL;
}

static void *put(void *arg)
{
	pthread_mutex_lock(&outer);
	pthread_cond_signal(&not_empty);
	pthread_mutex_unlock(&outer);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	watch();
	thread = start(take, NULL, "take");
	wait_sleeps(&takes);
	start(put, NULL, "put");
	soon_stuck(3);
	pthread_join(thread, NULL);
	return 0;
}
