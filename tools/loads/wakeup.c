// SPDX-License-Identifier: MIT
/*
 * Measure the cost of waking a thread: wakeup COUNT FIRST-CPU SECOND-CPU
 *
 * Two threads, each on its CPU, wake each other by turns through a futex and
 * sleep in between. The program prints the nanoseconds of one wake-up, as the
 * median of ten parts.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PARTS 10

static _Atomic uint32_t turn[2];
static int cpu[2];
static uint32_t count;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void pass_on(int me, uint32_t n)
{
	atomic_store(&turn[!me], n);
	syscall(SYS_futex, &turn[!me], FUTEX_WAKE_PRIVATE, 1);
}

static void take_turns(int me)
{
	for (uint32_t n = 1; n <= count; n++) {
		if (me == 0)
			pass_on(me, n);
		while (atomic_load(&turn[me]) != n)
			syscall(SYS_futex, &turn[me], FUTEX_WAIT_PRIVATE, n - 1,
				NULL);
		if (me == 1)
			pass_on(me, n);
	}
}

static void *run(void *arg)
{
	int me = (int)(intptr_t)arg;
	cpu_set_t mask;

	CPU_ZERO(&mask);
	CPU_SET(cpu[me], &mask);
	sched_setaffinity(0, sizeof(mask), &mask);
	take_turns(me);
	return NULL;
}

static int compare(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;

	return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
	double found[PARTS];

	if (argc != 4)
		return 2;
	count = (uint32_t)atol(argv[1]) / PARTS;
	cpu[0] = atoi(argv[2]);
	cpu[1] = atoi(argv[3]);
	for (int i = 0; i < PARTS; i++) {
		pthread_t threads[2];
		int64_t start = now();

		turn[0] = turn[1] = 0;
		for (intptr_t me = 0; me < 2; me++)
			if (pthread_create(&threads[me], NULL, run, (void *)me))
				return 1;
		pthread_join(threads[0], NULL);
		pthread_join(threads[1], NULL);
		found[i] = (double)(now() - start) / count / 2;
	}
	qsort(found, PARTS, sizeof(found[0]), compare);
	printf("%.0f\n", found[PARTS / 2]);
	return 0;
}
