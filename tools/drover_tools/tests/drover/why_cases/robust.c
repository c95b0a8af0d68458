// SPDX-License-Identifier: MIT
/* The owner of a robust mutex dies; the next takes EOWNERDEAD for a failure. */
#include "stuck.h"

static pthread_mutex_t record;

static void *owner(void *arg)
{
	pthread_mutex_lock(&record);
	return NULL;
}

static void *writer(void *arg)
{
	pthread_mutex_lock(&record);
	pthread_mutex_unlock(&record);
	return NULL;
}

int main(void)
{
	pthread_mutexattr_t attr;
	pthread_t thread;

	watch();
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&record, &attr);
	pthread_join(start(owner, NULL, "owner"), NULL);
	/* EOWNERDEAD: the mutex is locked, and has to be made consistent. */
	if (pthread_mutex_lock(&record) == 0)
		return 1;
	thread = start(writer, NULL, "writer");
	soon_stuck(2);
	pthread_join(thread, NULL);
	return 0;
}
