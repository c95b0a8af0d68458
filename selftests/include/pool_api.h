/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pool_api.h - a pool for a test, or the end of it
 *
 *	drover_pool_t *pool = pool_of(4);
 *	...
 *	await_sleep(4);
 *	pool_end(pool, DROVER_POOL_DRAIN);
 */
#ifndef DROVER_SELFTESTS_POOL_API_H
#define DROVER_SELFTESTS_POOL_API_H

#include <dirent.h>
#include <drover/pool.h>
#include <string.h>

#include "blocked.h"
#include "tap.h"

static inline drover_pool_t *pool_of(unsigned int nr_workers)
{
	drover_poolattr_t attr = { .workers = nr_workers };
	drover_pool_t *pool;
	int err = drover_pool_create(&pool, &attr);

	if (err)
		tap_bail("no pool: %s", strerror(err));
	return pool;
}

static inline void pool_end(drover_pool_t *pool, enum drover_pool_end how)
{
	int err = drover_pool_shutdown(pool, how);

	if (!err)
		err = drover_pool_free(pool);
	if (err)
		tap_bail("the pool does not end: %s", strerror(err));
}

/*
 * workers_sleep - do so many threads sleep in futex?
 *
 * The caller does not. Others that are no workers must not, either; a sanitizer's
 * own thread sleeps elsewhere.
 */
static inline bool workers_sleep(int nr)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			nr -= blocked_in_futex(getpid(), atoi(entry->d_name),
					       NULL) == 1;
	if (dir)
		closedir(dir);
	return nr <= 0;
}

/* One that was woken and has not run yet is awake. */
static inline void await_sleep(int nr)
{
	int64_t deadline = blocked_deadline();

	while (!workers_sleep(nr)) {
		if (blocked_over(deadline))
			tap_bail("workers do not sleep");
		sched_yield();
	}
}

#endif /* DROVER_SELFTESTS_POOL_API_H */
