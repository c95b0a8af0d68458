// SPDX-License-Identifier: MIT
/*
 * A producer hands a short task to its consumer every 40 microseconds:
 * producer COUNT. The benchmark compares the CPU time.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define PERIOD_NS 40000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static long produced;
static long count;

static void *consume(void *arg)
{
	for (long taken = 0; taken < count;) {
		pthread_mutex_lock(&lock);
		while (produced == taken)
			pthread_cond_wait(&filled, &lock);
		taken = produced;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

int main(int argc, char **argv)
{
	struct timespec next;
	pthread_t consumer;

	count = argc > 1 ? atol(argv[1]) : 1000;
	prctl(PR_SET_TIMERSLACK, 1);
	if (pthread_create(&consumer, NULL, consume, NULL))
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (long i = 0; i < count; i++) {
		next.tv_nsec += PERIOD_NS;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		pthread_mutex_lock(&lock);
		produced++;
		pthread_cond_signal(&filled);
		pthread_mutex_unlock(&lock);
	}
	pthread_join(consumer, NULL);
	return 0;
}
