// SPDX-License-Identifier: MIT
/*
 * Real-time threads of three priorities at one condition variable, on one CPU:
 * priority SECONDS. The program prints how long the broadcasts of the thread
 * with the highest priority took; it needs the right to use SCHED_FIFO.
 *
 *	low	two threads hand a ball over, by signals
 *	medium	computes for 2 ms, sleeps for 3 ms, and uses neither the mutex
 *		nor the condition variable
 *	high	every millisecond or so it locks the mutex, broadcasts, and
 *		unlocks it
 *
 * The mutex inherits priorities, so a low thread that holds it is not kept from
 * the CPU by the medium one, and the high thread should never have to wait for
 * the medium one (sourceware 11588). It does if the condition variable has a
 * lock or a counter of its own that makes it wait for a low thread.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COMPUTE_NS 2000000
#define MOST	   100000

static pthread_mutex_t mutex;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ball; /* mutex */
static atomic_bool stop;
static int64_t took[MOST];
static int nr;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void sleep_ns(long ns)
{
	clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ 0, ns }, NULL);
}

static void *low(void *arg)
{
	int me = (int)(intptr_t)arg;

	pthread_mutex_lock(&mutex);
	while (!stop) {
		while (ball != me && !stop)
			pthread_cond_wait(&changed, &mutex);
		ball = !me;
		pthread_cond_signal(&changed);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void *medium(void *arg)
{
	while (!stop) {
		int64_t end = now() + COMPUTE_NS;

		while (now() < end)
			;
		sleep_ns(3000000 + random() % 100000);
	}
	return arg;
}

static void *high(void *arg)
{
	while (!stop) {
		int64_t begin;

		sleep_ns(900000 + random() % 200000);
		begin = now();
		pthread_mutex_lock(&mutex);
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&mutex);
		if (nr < MOST)
			took[nr++] = now() - begin;
	}
	return arg;
}

static void start(pthread_t *thread, void *(*run)(void *), intptr_t arg,
		  int priority)
{
	struct sched_param param = { .sched_priority = priority };
	pthread_attr_t attr;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &param);
	err = pthread_create(thread, &attr, run, (void *)arg);
	pthread_attr_destroy(&attr);
	if (err) {
		fprintf(stderr, "priority: a SCHED_FIFO thread: %s\n",
			strerror(err));
		exit(1);
	}
}

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 10;
	pthread_mutexattr_t attr;
	pthread_t threads[4];
	cpu_set_t one;

	if (sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ 40 })) {
		perror("priority: SCHED_FIFO");
		return 1;
	}
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&mutex, &attr);
	start(&threads[0], high, 0, 30);
	start(&threads[1], medium, 0, 20);
	start(&threads[2], low, 0, 10);
	start(&threads[3], low, 1, 10);
	sleep(seconds);
	pthread_mutex_lock(&mutex);
	stop = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	qsort(took, nr, sizeof(took[0]), ascending);
	if (!nr)
		return 1;
	printf("%d broadcasts, us: half of them at most %.1f, 99 %% %.1f, all %.1f\n",
	       nr, took[nr / 2] / 1e3, took[(int)(nr * 0.99)] / 1e3,
	       took[nr - 1] / 1e3);
	return 0;
}
