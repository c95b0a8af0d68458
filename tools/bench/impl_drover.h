/* SPDX-License-Identifier: MIT */
/* Drover's own API. */
#ifndef BENCH_IMPL_DROVER_H
#define BENCH_IMPL_DROVER_H

#include <drover/cond.h>
#include <drover/mutex.h>

#define IMPL(name) drover_##name
#include "impl_calls.h"

#define impl_has_await() true

static inline void impl_cond_await(struct impl_cond *cond,
				   struct impl_mutex *mutex,
				   bool (*predicate)(void *arg), void *arg)
{
	bench_expect_0("cond_await",
		       drover_cond_await(&cond->c, &mutex->m, predicate, arg));
}

static const char *impl_version(void)
{
	static char text[64];

	snprintf(text, sizeof(text), "drover %s", drover_version());
	return text;
}

BENCH_IMPL("drover",
	   "drover_cond_*; DROVER_POLICY=auto|requeue|wake-all applies",
	   impl_version);

#endif
