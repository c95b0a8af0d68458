/* SPDX-License-Identifier: MIT */
/*
 * The drop-in's own functions, which its exported symbols are versions of:
 * three generations of pthread_cond_*, and C11's cnd_*.
 */
#ifndef DROVER_DROP_IN_H
#define DROVER_DROP_IN_H

#ifndef __x86_64__
#error "symbol versions are x86-64's: build without CONFIG_LIB_DROP_IN"
#endif

#include <pthread.h>

#include "cond/cond.h"

/*
 * Debug build: a mutex of a type that glibc does not check is held by the
 * caller, who has called @call.
 */
#ifdef DROVER_DEBUG
void glibc_mutex_check(pthread_mutex_t *mutex, const char *call);
#else
#define glibc_mutex_check(mutex, call) ((void)0)
#endif

int drop_in_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr);
int drop_in_cond_destroy(pthread_cond_t *cond);
int drop_in_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int drop_in_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			   const struct timespec *abstime);
int drop_in_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			   clockid_t clock, const struct timespec *abstime);
int drop_in_cond_signal(pthread_cond_t *cond);
int drop_in_cond_broadcast(pthread_cond_t *cond);
int drop_in_cancel(pthread_t thread);

/*
 * EXPORT() - make @function the version @version ("@@NODE" for the default
 * one, "@NODE" for an old one) of the symbol @name. @nr tells the versions of
 * one name apart.
 */
#define EXPORT(name, nr, function, version)                               \
	extern __typeof__(function) export_##name##_##nr                  \
		__attribute__((alias(#function), visibility("default"))); \
	__asm__(".symver export_" #name "_" #nr ", " #name version)

#endif /* DROVER_DROP_IN_H */
