/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pool_api.h - a pool for a test, or the end of it
 *
 *	drover_pool_t *pool = pool_of(4);
 *	...
 *	pool_end(pool, DROVER_POOL_DRAIN);
 */
#ifndef DROVER_SELFTESTS_POOL_API_H
#define DROVER_SELFTESTS_POOL_API_H

#include <drover/pool.h>
#include <string.h>

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

#endif /* DROVER_SELFTESTS_POOL_API_H */
