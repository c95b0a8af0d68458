// SPDX-License-Identifier: MIT
/*
 * Two threads pass a wave through an array. Each thread computes its half of
 * the next step from the whole of the last step, and they meet after each step.
 *
 *	cc barrier.c -ldrover -pthread
 */
#include <drover/barrier.h>
#include <pthread.h>
#include <stdio.h>

#define NR_THREADS 2
#define NR_CELLS   64
#define NR_STEPS   1000

static drover_barrier_t step_done;
static long cells[2][NR_CELLS];

static void *run(void *arg)
{
	int nr = (int)(long)arg, half = NR_CELLS / NR_THREADS;

	for (int step = 0; step < NR_STEPS; step++) {
		const long *from = cells[step % 2];
		long *to = cells[(step + 1) % 2];

		for (int i = nr * half; i < (nr + 1) * half; i++)
			to[i] = from[i] + from[(i + 1) % NR_CELLS] % 7;
		drover_barrier_wait(&step_done);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[NR_THREADS];
	long sum = 0;

	for (int i = 0; i < NR_CELLS; i++)
		cells[0][i] = i;
	if (drover_barrier_init(&step_done, NR_THREADS, NULL))
		return 1;
	for (long i = 0; i < NR_THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)i))
			return 1;
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	drover_barrier_destroy(&step_done);
	for (int i = 0; i < NR_CELLS; i++)
		sum += cells[NR_STEPS % 2][i];
	printf("sum after %d steps: %ld\n", NR_STEPS, sum);
	return 0;
}
