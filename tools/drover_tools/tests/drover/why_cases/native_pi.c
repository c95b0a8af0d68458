// SPDX-License-Identifier: MIT
/* Two of Drover's PI mutexes in opposite order: the kernel notices. */
#include <drover/barrier.h>
#include <drover/mutex.h>

#include "stuck.h"

static drover_mutex_t first, second;
static drover_barrier_t both = DROVER_BARRIER_INITIALIZER(2);

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

int main(void)
{
	const drover_mutexattr_t pi = { .flags = DROVER_MUTEX_PI };
	pthread_t thread;

	watch();
	CHECK(!drover_mutex_init(&first, &pi));
	CHECK(!drover_mutex_init(&second, &pi));
	thread = start(forwards, NULL, "forwards");
	start(backwards, NULL, "backwards");
	soon_stuck(3);
	pthread_join(thread, NULL);
	return 0;
}
