/* SPDX-License-Identifier: GPL-2.0-only */
/* bench.h - shared by the programs that time a requeue */
#ifndef DROVER_KERNEL_BENCH_H
#define DROVER_KERNEL_BENCH_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STACK (32 * 1024)

static inline void die(const char *what, int error)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		strerror(error));
	exit(1);
}

static inline long futex(uint32_t *uaddr, int op, int nr, long nr2,
			 uint32_t *uaddr2)
{
	return syscall(SYS_futex, uaddr, op | FUTEX_PRIVATE_FLAG, nr, nr2,
		       uaddr2, 0);
}

static inline long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static inline int compare_times(const void *a, const void *b)
{
	long long x = *(const long long *)a, y = *(const long long *)b;

	return (x > y) - (x < y);
}

static inline long long median(long long *v, int nr)
{
	qsort(v, nr, sizeof(*v), compare_times);
	return v[nr / 2];
}

/* Start a thread with a small stack, because there are 10,000 of them. */
static inline pthread_t start_thread(void *(*function)(void *), void *argument)
{
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	error = pthread_create(&thread, &attr, function, argument);
	if (error)
		die("pthread_create; see /proc/sys/kernel/threads-max", error);
	pthread_attr_destroy(&attr);
	return thread;
}

/* Move @nr threads to @to, which wait on @from, or will soon. */
static inline void gather(uint32_t *from, uint32_t *to, long nr)
{
	struct timespec pause = { .tv_nsec = 1000000 };

	while (nr > 0) {
		nanosleep(&pause, NULL);
		nr -= futex(from, FUTEX_REQUEUE, 0, INT_MAX, to);
	}
}

/* Wake the @nr threads on @word, and wait until they have ended. */
static inline void finish(pthread_t *threads, long nr, uint32_t *word)
{
	if (futex(word, FUTEX_WAKE, INT_MAX, 0, NULL) != nr)
		die("a wake missed some waiters", EPROTO);
	for (long i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
}

#endif /* DROVER_KERNEL_BENCH_H */
