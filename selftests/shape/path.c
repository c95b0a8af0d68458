// SPDX-License-Identifier: GPL-2.0-only
/*
 * This program records the functions that a broadcast and a wait enter before
 * their system call. It prints "broadcast ADDRESS" or "wait ADDRESS" once for
 * each function.
 *
 * It is linked to a build of the drop-in that reports each function it enters
 * (-finstrument-functions), and that calls this program instead of the kernel.
 * The mutex's holder broadcasts while two threads sleep. The wait polls before
 * it sleeps.
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

/*
 * Set up the thread, which also learns its id, so that no recorded call does.
 */
static void first_calls(void)
{
	pthread_mutex_t checks = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
	pthread_cond_t other = PTHREAD_COND_INITIALIZER;
	struct timespec past = { 0, 0 };

	pthread_mutex_lock(&checks);
	pthread_cond_timedwait(&other, &checks, &past);
	pthread_mutex_unlock(&checks);
}

static void *waiter(void *recording)
{
	pthread_mutex_lock(&mutex);
	first_calls();
	recorded = recording;
	if (!recording)
		nr_asleep++; /* early: it waits as soon as it drops the mutex */
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

	/* The second wait is recorded. */
	for (int i = 0; i < NR_WAITERS; i++) {
		if (pthread_create(&threads[i], NULL, waiter,
				   i ? &wait_path : NULL))
			return 1;
		/* The counter synchronises; the sleep only spares the CPU. */
		while (nr_asleep <= i)
			usleep(1000);
	}
	pthread_mutex_lock(&mutex);
	first_calls();
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
