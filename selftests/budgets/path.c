// SPDX-License-Identifier: MIT
/*
 * Which functions a broadcast and a wait go through before their system call:
 * prints "broadcast ADDRESS" and "wait ADDRESS" once for each.
 *
 * It is linked to a build of the drop-in that reports each function it enters
 * (-finstrument-functions), and that calls here instead of the kernel. The
 * broadcast is of the mutex's holder, and two threads sleep; the wait polls
 * before it sleeps.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NR_WAITERS     2
#define MOST_FUNCTIONS 256

static struct path {
	void *functions[MOST_FUNCTIONS];
	int nr;
} broadcast_path, wait_path;

static _Thread_local struct path *recorded;
static atomic_int nr_asleep;

void __cyg_profile_func_enter(void *function, void *caller)
{
	struct path *p = recorded;

	(void)caller;
	for (int i = 0; p && i < p->nr; i++)
		if (p->functions[i] == function)
			return;
	if (p && p->nr < MOST_FUNCTIONS)
		p->functions[p->nr++] = function;
}

void __cyg_profile_func_exit(void *function, void *caller)
{
	(void)function;
	(void)caller;
}

long raw_futex_call(_Atomic uint32_t *word, int op, uint32_t val,
		    const void *timeout, _Atomic uint32_t *word2, uint32_t val3)
{
	if (recorded == &wait_path)
		nr_asleep++;
	recorded = NULL;
	return syscall(SYS_futex, word, op, val, timeout, word2, val3);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool go;

static void *waiter(void *recording)
{
	struct timespec past = { 0, 0 };

	pthread_mutex_lock(&mutex);
	/* What only the first wait of a thread does is over. */
	pthread_cond_timedwait(&cond, &mutex, &past);
	recorded = recording;
	if (!recording)
		nr_asleep++;
	while (!go)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void print(const char *name, const struct path *p)
{
	for (int i = 0; i < p->nr; i++)
		printf("%s %p\n", name, p->functions[i]);
}

int main(void)
{
	pthread_t threads[NR_WAITERS];

	for (int i = 0; i < NR_WAITERS; i++)
		if (pthread_create(&threads[i], NULL, waiter,
				   i ? &wait_path : NULL))
			return 1;
	while (nr_asleep < NR_WAITERS)
		usleep(1000);
	pthread_mutex_lock(&mutex);
	go = true;
	recorded = &broadcast_path;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < NR_WAITERS; i++)
		pthread_join(threads[i], NULL);
	print("broadcast", &broadcast_path);
	print("wait", &wait_path);
	return 0;
}
