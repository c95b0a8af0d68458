// SPDX-License-Identifier: MIT
/* Drover's condvar is destroyed while a thread waits there with a predicate. */
#include <drover/cond.h>

#include "stuck.h"

static drover_mutex_t guard;
static drover_cond_t news = DROVER_COND_INITIALIZER;
static atomic_int waits;

static bool has_news(void *arg)
{
	return false;
}

static void *listener(void *arg)
{
	drover_mutex_lock(&guard);
	atomic_store(&waits, own_tid());
	drover_cond_await(&news, &guard, has_news, NULL);
	return NULL;
}

int main(void)
{
	watch();
	start(listener, NULL, "listener");
	wait_sleeps(&waits);
	soon_stuck(2);
	drover_cond_destroy(&news);
	return 0;
}
