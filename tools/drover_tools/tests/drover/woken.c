// SPDX-License-Identifier: MIT
/*
 * Broadcasts, for stat.py: in each round all threads wait, and one broadcast
 * wakes them. With "tokens" one thread can go on, and the others wait again at
 * once; with "news" all go on. Each of many condvars on the heap has one wait,
 * and one of these has many signals; others have broadcasts without a waiter.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>

#define NR_THREADS 4
#define NR_ROUNDS  20
#define NR_MANY	   30
#define NR_SIGNALS 200

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t tokens = PTHREAD_COND_INITIALIZER;
pthread_cond_t news = PTHREAD_COND_INITIALIZER;

static int nr_tokens, nr_news;
static bool done;
static sem_t waits;

/* A semaphore counts the threads that wait, as stat would count a condvar. */
static void *take_tokens(void *arg)
{
	for (;;) {
		pthread_mutex_lock(&lock);
		while (!nr_tokens && !done) {
			sem_post(&waits);
			pthread_cond_wait(&tokens, &lock);
		}
		if (done)
			break;
		nr_tokens--;
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *take_news(void *arg)
{
	for (int i = 1; i <= NR_ROUNDS; i++) {
		pthread_mutex_lock(&lock);
		while (nr_news < i) {
			sem_post(&waits);
			pthread_cond_wait(&news, &lock);
		}
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void rounds(pthread_cond_t *cond, int *nr, void *(*body)(void *))
{
	pthread_t threads[NR_THREADS];

	for (int i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i], NULL, body, NULL);
	for (int i = 0; i <= NR_ROUNDS; i++) {
		for (int w = 0;
		     w < NR_THREADS && (i < NR_ROUNDS || nr == &nr_tokens); w++)
			sem_wait(&waits);
		pthread_mutex_lock(&lock);
		done = i == NR_ROUNDS && nr == &nr_tokens;
		(*nr)++;
		pthread_cond_broadcast(cond);
		pthread_mutex_unlock(&lock);
	}
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	pthread_cond_t *many = calloc(NR_MANY * 2, sizeof(*many));
	struct timespec past = { 1, 0 };

	sem_init(&waits, 0, 0);
	rounds(&tokens, &nr_tokens, take_tokens);
	done = false;
	rounds(&news, &nr_news, take_news);
	pthread_mutex_lock(&lock);
	for (int i = 0; i < NR_MANY; i++) {
		pthread_cond_timedwait(&many[i], &lock, &past);
		pthread_cond_broadcast(&many[NR_MANY + i]);
	}
	for (int i = 0; i < NR_SIGNALS; i++)
		pthread_cond_signal(&many[0]);
	pthread_mutex_unlock(&lock);
	return 0;
}
