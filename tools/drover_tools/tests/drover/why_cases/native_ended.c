// SPDX-License-Identifier: MIT
/*
 * Drover's own objects: a mutex whose holder has ended, a wait with a predicate,
 * and the worker of an idle pool.
 */
#include <drover/cond.h>
#include <drover/pool.h>

#include "stuck.h"

static drover_mutex_t left, guard;
static drover_cond_t news = DROVER_COND_INITIALIZER;

static void *owner(void *arg)
{
	drover_mutex_lock(&left);
	return NULL;
}

static void *heir(void *arg)
{
	drover_mutex_lock(&left);
	return NULL;
}

static bool has_news(void *arg)
{
	return false;
}

static void *listener(void *arg)
{
	drover_mutex_lock(&guard);
	drover_cond_await(&news, &guard, has_news, NULL);
	return NULL;
}

int main(void)
{
	const drover_poolattr_t one = { .workers = 1 };
	drover_pool_t *pool;
	pthread_t thread;

	watch();
	CHECK(!drover_pool_create(&pool, &one));
	pthread_join(start(owner, NULL, "owner"), NULL);
	start(heir, NULL, "heir");
	thread = start(listener, NULL, "listener");
	soon_stuck(4);
	pthread_join(thread, NULL);
	return 0;
}
