// SPDX-License-Identifier: MIT
/* Drover's own objects: two mutexes in opposite order, a condvar, a barrier. */
#include <drover/barrier.h>
#include <drover/cond.h>

#include "stuck.h"

static drover_mutex_t first, second, third;
static drover_cond_t news = DROVER_COND_INITIALIZER;
static drover_barrier_t both = DROVER_BARRIER_INITIALIZER(2);
static drover_barrier_t all = DROVER_BARRIER_INITIALIZER(4);

static void *forwards(void *arg)
{
	drover_mutex_lock(&first);
	drover_barrier_wait(&both);
	drover_mutex_lock(&second);
	return NULL;
}

static void *backwards(void *arg)
{
	drover_mutex_lock(&second);
	drover_barrier_wait(&both);
	drover_mutex_lock(&first);
	return NULL;
}

static void *listener(void *arg)
{
	drover_mutex_lock(&third);
	drover_cond_wait(&news, &third);
	return NULL;
}

static void *part(void *arg)
{
	drover_barrier_wait(&all);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	watch();
	thread = start(forwards, NULL, "forwards");
	start(backwards, NULL, "backwards");
	start(listener, NULL, "listener");
	start(part, NULL, "part");
	soon_stuck(5);
	pthread_join(thread, NULL);
	return 0;
}
