// SPDX-License-Identifier: MIT
/*
 * A reader broadcasts to all its workers for each block, with the mutex held,
 * and one of them takes the block: reader WORKERS BLOCKS MICROSECONDS. The
 * worker works so long on the block; the reader works for about five
 * microseconds on each. There is room for two blocks for each worker.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* About so many; it only matters that it is the same with each library. */
#define LOOPS_PER_US	400
#define LOOPS_OF_READER 2000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static pthread_cond_t emptied = PTHREAD_COND_INITIALIZER;
static long nr_full, nr_empty, nr_done; /* under lock, as is the next one */
static bool stop;
static long loops_of_worker;

static void compute(long nr_loops)
{
	for (volatile long i = 0; i < nr_loops;)
		i = i + 1;
}

static void *work(void *arg)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!nr_full && !stop)
			pthread_cond_wait(&filled, &lock);
		if (!nr_full)
			break;
		nr_full--;
		pthread_mutex_unlock(&lock);
		compute(loops_of_worker);
		pthread_mutex_lock(&lock);
		nr_done++;
		if (++nr_empty == 1)
			pthread_cond_signal(&emptied);
	}
	pthread_mutex_unlock(&lock);
	return arg;
}

static void read_block(void)
{
	pthread_mutex_lock(&lock);
	while (!nr_empty)
		pthread_cond_wait(&emptied, &lock);
	nr_empty--;
	pthread_mutex_unlock(&lock);
	compute(LOOPS_OF_READER);
	pthread_mutex_lock(&lock);
	nr_full++;
	pthread_cond_broadcast(&filled);
	pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
	long nr_workers = argc == 4 ? atol(argv[1]) : 0;
	pthread_t *workers = calloc((size_t)nr_workers, sizeof(*workers));

	if (!nr_workers || !workers)
		return 2;
	nr_empty = 2 * nr_workers;
	loops_of_worker = LOOPS_PER_US * atol(argv[3]);
	for (long i = 0; i < nr_workers; i++)
		if (pthread_create(&workers[i], NULL, work, NULL))
			return 1;
	for (long nr_blocks = atol(argv[2]); nr_blocks > 0; nr_blocks--)
		read_block();
	pthread_mutex_lock(&lock);
	stop = true;
	pthread_cond_broadcast(&filled);
	pthread_mutex_unlock(&lock);
	for (long i = 0; i < nr_workers; i++)
		pthread_join(workers[i], NULL);
	printf("%ld blocks\n", nr_done);
	free(workers);
	return 0;
}
