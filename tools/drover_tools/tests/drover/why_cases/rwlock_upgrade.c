// SPDX-License-Identifier: MIT
/* Two readers want to become writers, and neither unlocks first. */
#include "stuck.h"

static pthread_rwlock_t index_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t both;

static void *update(void *arg)
{
	pthread_rwlock_rdlock(&index_lock);
	pthread_barrier_wait(&both);
	pthread_rwlock_wrlock(&index_lock);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	watch();
	pthread_barrier_init(&both, NULL, 2);
	thread = start(update, NULL, "update");
	start(update, NULL, "update");
	soon_stuck(3);
	pthread_join(thread, NULL);
	return 0;
}
