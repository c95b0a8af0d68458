/* SPDX-License-Identifier: MIT */
/* What peers/peer.h declares; which peer it is, the linker decides. */
#ifndef BENCH_IMPL_PEER_H
#define BENCH_IMPL_PEER_H

#include "bench.h"
#include "peers/peer.h"

struct impl_mutex {
	struct peer_mutex m;
};

struct impl_cond {
	struct peer_cond c;
};

static inline void impl_mutex_init(struct impl_mutex *mutex)
{
	peer_mutex_init(&mutex->m);
}

static inline void impl_mutex_destroy(struct impl_mutex *mutex)
{
	peer_mutex_destroy(&mutex->m);
}

static inline void impl_mutex_lock(struct impl_mutex *mutex)
{
	peer_mutex_lock(&mutex->m);
}

static inline void impl_mutex_unlock(struct impl_mutex *mutex)
{
	peer_mutex_unlock(&mutex->m);
}

static inline void impl_cond_init(struct impl_cond *cond)
{
	peer_cond_init(&cond->c);
}

static inline void impl_cond_destroy(struct impl_cond *cond)
{
	peer_cond_destroy(&cond->c);
}

static inline void impl_cond_wait(struct impl_cond *cond,
				  struct impl_mutex *mutex)
{
	peer_cond_wait(&cond->c, &mutex->m);
}

static inline bool impl_cond_timedwait(struct impl_cond *cond,
				       struct impl_mutex *mutex,
				       const struct timespec *deadline)
{
	return peer_cond_timedwait(&cond->c, &mutex->m, deadline->tv_sec,
				   deadline->tv_nsec);
}

static inline void impl_cond_signal(struct impl_cond *cond)
{
	peer_cond_signal(&cond->c);
}

static inline void impl_cond_broadcast(struct impl_cond *cond)
{
	peer_cond_broadcast(&cond->c);
}

static const char *impl_library(void)
{
	return peer_library();
}

static const struct bench_impl impl = {
	.name = peer_name,
	.help = peer_help,
	.library = impl_library,
	.version = peer_version,
};

#endif
