// SPDX-License-Identifier: MIT
/* A barrier for four threads, of which three arrive. */
#include "stuck.h"

#define NR 3

static pthread_barrier_t step;

static void *part(void *arg)
{
	pthread_barrier_wait(&step);
	return NULL;
}

int main(void)
{
	pthread_t threads[NR];

	watch();
	pthread_barrier_init(&step, NULL, NR + 1);
	for (int i = 0; i < NR; i++)
		threads[i] = start(part, NULL, "part");
	soon_stuck(NR + 1);
	for (int i = 0; i < NR; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
