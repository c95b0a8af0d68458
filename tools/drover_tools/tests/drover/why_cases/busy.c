// SPDX-License-Identifier: MIT
/*
 * Nothing is wrong here: threads hand work to each other for ever, by one of
 * several means, and none waits for anything outside the process.
 *
 *	busy KIND	one of the names in kinds[]
 */
#include "stuck.h"

#include <errno.h>
#include <semaphore.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sems[2];
static int turn; /* [mutex] */

/* Two threads by turns, by one condition variable. */
static void *by_condvar(void *arg)
{
	int own = arg != NULL;

	for (;;) {
		pthread_mutex_lock(&mutex);
		while (turn != own)
			pthread_cond_wait(&cond, &mutex);
		turn = !own;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

/* The same, but waits end early, and broadcasts find no waiter. */
static void *by_time(void *arg)
{
	int own = arg != NULL;
	struct timespec at;

	for (;;) {
		pthread_mutex_lock(&mutex);
		while (turn != own) {
			clock_gettime(CLOCK_REALTIME, &at);
			at.tv_nsec += 20000;
			at.tv_sec += at.tv_nsec / 1000000000;
			at.tv_nsec %= 1000000000;
			pthread_cond_timedwait(&cond, &mutex, &at);
		}
		turn = !own;
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void *by_semaphores(void *arg)
{
	int own = arg != NULL;

	for (;;) {
		while (sem_wait(&sems[own]) && errno == EINTR)
			;
		sem_post(&sems[!own]);
	}
	return NULL;
}

/* The same, but each semaphore lies on the stack of the thread that waits. */
static void *by_own_semaphores(void *arg)
{
	static _Atomic(sem_t *) posted_by_other[2];
	int own = arg != NULL;
	sem_t sem;

	sem_init(&sem, 0, !own);
	atomic_store(&posted_by_other[own], &sem);
	while (!atomic_load(&posted_by_other[!own]))
		sched_yield();
	for (;;) {
		while (sem_wait(&sem) && errno == EINTR)
			;
		sem_post(atomic_load(&posted_by_other[!own]));
	}
	return NULL;
}

static void *by_mutexes(void *arg)
{
	for (;;) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_lock(&inner);
		sched_yield();
		pthread_mutex_unlock(&inner);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void *by_rwlock(void *arg)
{
	for (;;) {
		if (arg)
			pthread_rwlock_wrlock(&rwlock);
		else
			pthread_rwlock_rdlock(&rwlock);
		sched_yield();
		pthread_rwlock_unlock(&rwlock);
	}
	return NULL;
}

static void *by_barrier(void *arg)
{
	for (;;)
		pthread_barrier_wait(&barrier);
	return NULL;
}

static void *short_life(void *arg)
{
	pthread_mutex_lock(&mutex);
	sched_yield();
	pthread_mutex_unlock(&mutex);
	return arg;
}

/* Threads that begin, end, and are joined. */
static void *by_join(void *arg)
{
	for (;;) {
		pthread_t threads[3];

		for (int i = 0; i < 3; i++)
			threads[i] = start(short_life, NULL, "short life");
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
	}
	return NULL;
}

static const struct {
	const char *name;
	void *(*function)(void *arg);
	int nr_threads;
} kinds[] = {
	{ "condvar", by_condvar, 2 },
	{ "time", by_time, 4 },
	{ "semaphores", by_semaphores, 4 },
	{ "own semaphores", by_own_semaphores, 2 },
	{ "mutexes", by_mutexes, 4 },
	{ "rwlock", by_rwlock, 4 },
	{ "barrier", by_barrier, 4 },
	{ "join", by_join, 4 },
};

int main(int argc, char **argv)
{
	pthread_barrier_init(&barrier, NULL, 4);
	sem_init(&sems[0], 0, 1);
	sem_init(&sems[1], 0, 0);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		pthread_t thread = 0;

		if (argc < 2 || strcmp(argv[1], kinds[i].name))
			continue;
		for (int k = 0; k < kinds[i].nr_threads; k++)
			thread = start(kinds[i].function, k % 2 ? &mutex : NULL,
				       kinds[i].name);
		pthread_join(thread, NULL);
	}
	return 2;
}
