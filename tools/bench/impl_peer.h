/* SPDX-License-Identifier: MIT */
/*
 * The functions of impl.h are those that peers/peer.h declares. The linker
 * decides which peer defines them.
 */
#ifndef BENCH_IMPL_PEER_H
#define BENCH_IMPL_PEER_H

#include <time.h>

#include "bench.h"
#include "peers/peer.h"

#define impl_mutex	   peer_mutex
#define impl_mutex_init	   peer_mutex_init
#define impl_mutex_destroy peer_mutex_destroy
#define impl_mutex_lock	   peer_mutex_lock
#define impl_mutex_unlock  peer_mutex_unlock

#define impl_cond	    peer_cond
#define impl_cond_init	    peer_cond_init
#define impl_cond_destroy   peer_cond_destroy
#define impl_cond_wait	    peer_cond_wait
#define impl_cond_signal    peer_cond_signal
#define impl_cond_broadcast peer_cond_broadcast

static inline bool impl_cond_timedwait(struct impl_cond *cond,
				       struct impl_mutex *mutex,
				       const struct timespec *deadline)
{
	return peer_cond_timedwait(cond, mutex, deadline->tv_sec,
				   deadline->tv_nsec);
}

#define impl_has_await() (peer_await != NULL)
#define impl_cond_await(cond, mutex, predicate, arg) \
	peer_await(mutex, predicate, arg)

#define impl_library peer_library

BENCH_IMPL(peer_name, peer_help, peer_version);

#endif
