// SPDX-License-Identifier: MIT
/*
 * The selftest loads this before the C library. Its condition variables fail on
 * purpose, and the programs' own checks have to notice that.
 *
 * FAULT=lost		the third broadcast wakes a single waiter
 * FAULT=dropped	the ninth signal wakes no thread
 * FAULT=early		a wait with a deadline ends at once, and barriers let
 *			all threads through at once
 * FAULT=spurious	every seventh wait returns at once, the mutex held
 * FAULT=stale		the seventh staged copy of a stream copies nothing
 * FAULT=count		nothing fails; prints the number of broadcasts at exit
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_uint waits, broadcasts, signals;
static int (*real_wait)(pthread_cond_t *cond, pthread_mutex_t *mutex);
static int (*real_timedwait)(pthread_cond_t *cond, pthread_mutex_t *mutex,
			     const struct timespec *deadline);
static int (*real_signal)(pthread_cond_t *cond);
static int (*real_broadcast)(pthread_cond_t *cond);
static const char *fault = "";

/* On x86-64, plain dlsym() may find the functions from before glibc 2.3.2. */
static void *next(const char *name)
{
	void *symbol = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");

	return symbol ? symbol : dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void set_up(void)
{
	real_wait = (int (*)(pthread_cond_t *, pthread_mutex_t *))next(
		"pthread_cond_wait");
	real_timedwait = (int (*)(
		pthread_cond_t *, pthread_mutex_t *,
		const struct timespec *))next("pthread_cond_timedwait");
	real_signal = (int (*)(pthread_cond_t *))next("pthread_cond_signal");
	real_broadcast =
		(int (*)(pthread_cond_t *))next("pthread_cond_broadcast");
	if (getenv("FAULT"))
		fault = getenv("FAULT");
}

__attribute__((destructor)) static void tell(void)
{
	if (!strcmp(fault, "count"))
		fprintf(stderr, "broadcasts: %u\n", atomic_load(&broadcasts));
}

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	unsigned int n = atomic_fetch_add(&waits, 1) + 1;

	if (!strcmp(fault, "spurious") && n % 7 == 0)
		return 0;
	return real_wait(cond, mutex);
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			   const struct timespec *deadline)
{
	if (!strcmp(fault, "early"))
		return ETIMEDOUT;
	return real_timedwait(cond, mutex, deadline);
}

int pthread_cond_signal(pthread_cond_t *cond)
{
	unsigned int n = atomic_fetch_add(&signals, 1) + 1;

	if (!strcmp(fault, "dropped") && n == 9)
		return 0;
	return real_signal(cond);
}

int pthread_cond_broadcast(pthread_cond_t *cond)
{
	unsigned int n = atomic_fetch_add(&broadcasts, 1) + 1;

	if (!strcmp(fault, "lost") && n == 3)
		return real_signal(cond);
	return real_broadcast(cond);
}

int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	int (*real)(pthread_barrier_t *) = (int (*)(pthread_barrier_t *))dlsym(
		RTLD_NEXT, "pthread_barrier_wait");

	return strcmp(fault, "early") ? real(barrier) : 0;
}

/* @ticket has type void *, since it is passed on and not looked at. */
int drover_stream_copy_staged(void *stream, void *to, const void *from,
			      size_t bytes, void *ticket)
{
	static atomic_uint copies;
	int (*real)(void *, void *, const void *, size_t, void *) =
		(int (*)(void *, void *, const void *, size_t,
			 void *))dlsym(RTLD_NEXT, "drover_stream_copy_staged");
	unsigned int n = atomic_fetch_add(&copies, 1) + 1;

	if (!strcmp(fault, "stale") && n == 7)
		return 0;
	return real(stream, to, from, bytes, ticket);
}
