// SPDX-License-Identifier: MIT
/* Sixty-four threads wait for one mutex, whose holder works. */
#include "stuck.h"

#define NR 64

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool held;

static void *write_log(void *arg)
{
	volatile unsigned long work = 0;

	pthread_mutex_lock(&log_lock);
	atomic_store(&held, true);
	for (;;)
		work++;
	return NULL;
}

int main(void)
{
	pthread_t thread;

	watch();
	thread = start(write_log, NULL, "first");
	while (!atomic_load(&held))
		sched_yield();
	for (int i = 0; i < NR; i++)
		start(write_log, NULL, "write log");
	soon_stuck(NR + 1);
	pthread_join(thread, NULL);
	return 0;
}
