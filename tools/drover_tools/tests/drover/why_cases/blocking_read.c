// SPDX-License-Identifier: MIT
/* A mutex is held while its holder reads from a pipe that stays empty. */
#include "stuck.h"

static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static atomic_int reads;

static void *fetch(void *arg)
{
	char byte;

	pthread_mutex_lock(&cache);
	atomic_store(&reads, own_tid());
	CHECK(read(ends[0], &byte, 1) >= 0);
	pthread_mutex_unlock(&cache);
	return NULL;
}

static void *look_up(void *arg)
{
	pthread_mutex_lock(&cache);
	pthread_mutex_unlock(&cache);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	watch();
	CHECK(!pipe(ends));
	thread = start(fetch, NULL, "fetch");
	wait_sleeps(&reads);
	start(look_up, NULL, "look up 1");
	start(look_up, NULL, "look up 2");
	soon_stuck(4);
	pthread_join(thread, NULL);
	return 0;
}
