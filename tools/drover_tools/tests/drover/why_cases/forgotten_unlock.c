// SPDX-License-Identifier: MIT
/* A thread leaves by an error path that does not unlock, and ends. */
#include "stuck.h"

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;

static int insert(const char *text)
{
	pthread_mutex_lock(&table);
	if (!*text)
		return -1; /* forgotten: unlock */
	pthread_mutex_unlock(&table);
	return 0;
}

static void *writer(void *arg)
{
	return insert("") ? NULL : arg;
}

static void *reader(void *arg)
{
	pthread_mutex_lock(&table);
	pthread_mutex_unlock(&table);
	return NULL;
}

int main(void)
{
	watch();
	pthread_join(start(writer, NULL, "writer"), NULL);
	start(reader, NULL, "reader");
	soon_stuck(3);
	pthread_join(start(reader, NULL, "reader"), NULL);
	return 0;
}
