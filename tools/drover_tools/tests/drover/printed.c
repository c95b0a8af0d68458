// SPDX-License-Identifier: MIT
/* The objects that gdb prints for trace.py, at stop_here(). */
#include <drover/barrier.h>
#include <drover/cond.h>
#include <drover/mutex.h>
#include <drover/pool.h>
#include <pthread.h>
#include <stdlib.h>

#define NR_THREADS 3

drover_mutex_t lock = DROVER_MUTEX_INITIALIZER;
drover_mutex_t twice;
drover_cond_t waited_for = DROVER_COND_INITIALIZER;
drover_cond_t arrived = DROVER_COND_INITIALIZER;
drover_cond_t awaited = DROVER_COND_INITIALIZER;
drover_cond_t shared;
drover_barrier_t three, pair;
drover_pool_t *pool;

static int nr_arrived;

static void *wait_here(void *arg)
{
	drover_mutex_lock(&lock);
	nr_arrived++;
	drover_cond_signal(&arrived);
	for (;;)
		drover_cond_wait(&waited_for, &lock);
	return arg;
}

static bool never(void *arg)
{
	return false;
}

static void *await_here(void *arg)
{
	drover_mutex_lock(&lock);
	nr_arrived++;
	drover_cond_signal(&arrived);
	drover_cond_await(&awaited, &lock, never, arg);
	return arg;
}

__attribute__((noinline)) void stop_here(void)
{
	__asm__ volatile("");
}

int main(void)
{
	const drover_mutexattr_t recursive = { .flags =
						       DROVER_MUTEX_RECURSIVE };
	const drover_condattr_t among = { .flags = DROVER_COND_SHARED };
	const drover_poolattr_t two = { .workers = 2 };
	drover_phase_t phase;
	pthread_t thread;

	if (drover_mutex_init(&twice, &recursive) ||
	    drover_cond_init(&shared, &among) ||
	    drover_barrier_init(&three, 3, NULL) ||
	    drover_barrier_init(&pair, 2, NULL) ||
	    drover_pool_create(&pool, &two))
		return EXIT_FAILURE;
	drover_mutex_lock(&twice);
	drover_mutex_lock(&twice);
	drover_barrier_arrive(&three, 2, &phase);
	drover_barrier_arrive(&pair, 1, &phase);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_create(&thread, NULL, wait_here, NULL);
	pthread_create(&thread, NULL, await_here, NULL);
	drover_mutex_lock(&lock);
	while (nr_arrived < NR_THREADS + 1)
		drover_cond_wait(&arrived, &lock);
	stop_here();
	drover_cond_signal(&waited_for);
	stop_here();
	return 0;
}
