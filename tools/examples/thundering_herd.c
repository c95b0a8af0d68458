// SPDX-License-Identifier: MIT
/*
 * A thundering herd: sixteen threads work on each batch, and a broadcast says
 * that the next batch is there. All of them need the mutex first, so most of
 * them sleep again. Documentation/tutorial.rst finds and removes the herd.
 *
 *	gcc -O2 -g -pthread thundering_herd.c -o thundering_herd
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 16

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t batch_is_there = PTHREAD_COND_INITIALIZER;
static pthread_cond_t batch_is_done = PTHREAD_COND_INITIALIZER;
static long batches, batch, sum;
static int at_work;

static void *work(void *arg)
{
	pthread_mutex_lock(&lock);
	for (long done = 0; done < batches; done++) {
		while (batch == done)
			pthread_cond_wait(&batch_is_there, &lock);
		for (int i = 0; i < 100; i++)
			sum += i ^ batch;
		if (--at_work == 0)
			pthread_cond_signal(&batch_is_done);
	}
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	batches = argc > 1 ? atol(argv[1]) : 2000;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	pthread_mutex_lock(&lock);
	for (long i = 0; i < batches; i++) {
		at_work = THREADS;
		batch++;
		pthread_cond_broadcast(&batch_is_there);
		while (at_work)
			pthread_cond_wait(&batch_is_done, &lock);
	}
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%ld\n", sum);
	return 0;
}
