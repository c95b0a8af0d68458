/* SPDX-License-Identifier: MIT */
/* pthread_cond_*, from the C library or from a library in LD_PRELOAD. */
#ifndef BENCH_IMPL_PTHREAD_H
#define BENCH_IMPL_PTHREAD_H

#include <pthread.h>

#define IMPL(name) pthread_##name
#include "impl_calls.h"

#define impl_has_await() false
#define impl_cond_await(cond, mutex, predicate, arg) \
	((void)(cond), (void)(mutex), (void)(predicate), (void)(arg))

BENCH_IMPL("pthread",
	   "pthread_cond_* as loaded: the C library's, or a drop-in's",
	   bench_libc_version);

#endif
