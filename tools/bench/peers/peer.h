/* SPDX-License-Identifier: MIT */
/*
 * Another project's mutex and condition variable, behind C functions that any
 * language can define. One peer is linked into one program, so all peers
 * define the same names. The call in between costs about a nanosecond.
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the peer keeps lies in here, made by _init(), ended by _destroy(). */
struct peer_mutex {
	uint64_t content[8];
};

struct peer_cond {
	uint64_t content[8];
};

extern const char peer_name[]; /* as in --impl= */
extern const char peer_help[];
const char *peer_version(void);
const char *peer_library(void);

void peer_mutex_init(struct peer_mutex *mutex);
void peer_mutex_destroy(struct peer_mutex *mutex);
void peer_mutex_lock(struct peer_mutex *mutex);
void peer_mutex_unlock(struct peer_mutex *mutex);

void peer_cond_init(struct peer_cond *cond);
void peer_cond_destroy(struct peer_cond *cond);
void peer_cond_wait(struct peer_cond *cond, struct peer_mutex *mutex);
/* Until that time of CLOCK_REALTIME; true when it is over. */
bool peer_cond_timedwait(struct peer_cond *cond, struct peer_mutex *mutex,
			 int64_t seconds, long nanoseconds);
void peer_cond_signal(struct peer_cond *cond);
void peer_cond_broadcast(struct peer_cond *cond);

/*
 * Wait until the predicate is true, with the mutex held. For peers whose mutex
 * has such a wait, and evaluates it for the waiter: the others leave it out.
 */
void peer_await(struct peer_mutex *mutex, bool (*predicate)(void *arg),
		void *arg) __attribute__((weak));

#ifdef __cplusplus
}
#endif

#endif
