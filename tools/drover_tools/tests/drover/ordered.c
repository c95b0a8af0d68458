// SPDX-License-Identifier: MIT
/*
 * valgrind.py runs this program, whose threads hand on data by condition
 * variables, without a race; one thread is cancelled in its wait, and waits
 * time out.
 *
 * ordered [race]: two threads also write without a lock.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#define NR_THREADS 4
#define NR_TURNS   50

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int turn, nr_arrived, nr_raced;

static void *take_turns(void *arg)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < NR_TURNS; i++) {
		while (turn % NR_THREADS != (int)(long)arg)
			pthread_cond_wait(&turned, &lock);
		turn++;
		pthread_cond_broadcast(&turned);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *wait_for_ever(void *arg)
{
	pthread_mutex_lock(&lock);
	pthread_cleanup_push((void (*)(void *))pthread_mutex_unlock, &lock);
	nr_arrived++;
	pthread_cond_signal(&turned);
	for (;;)
		pthread_cond_wait(&never, &lock);
	pthread_cleanup_pop(1);
	return arg;
}

static void *write_unlocked(void *arg)
{
	nr_raced++;
	return arg;
}

static void cancel_one(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, wait_for_ever, NULL);
	pthread_mutex_lock(&lock);
	while (!nr_arrived)
		pthread_cond_wait(&turned, &lock);
	pthread_mutex_unlock(&lock);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

/* Use several condvars at the same address, and a C11 one. */
static void be_late(void)
{
	struct timespec past = { 1, 0 };
	pthread_cond_t once;
	cnd_t c11;

	for (int i = 0; i < 3; i++) {
		pthread_cond_init(&once, NULL);
		pthread_mutex_lock(&lock);
		pthread_cond_timedwait(&once, &lock, &past);
		pthread_cond_signal(&once);
		pthread_mutex_unlock(&lock);
		pthread_cond_destroy(&once);
	}
	cnd_init(&c11);
	cnd_broadcast(&c11);
	cnd_destroy(&c11);
}

int main(int argc, char **argv)
{
	pthread_t threads[NR_THREADS];
	pid_t child;

	(void)argv;
	for (long i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i], NULL, take_turns, (void *)i);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	cancel_one();
	be_late();
	child = fork();
	if (child == 0) {
		be_late();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	if (argc > 1) {
		pthread_create(&threads[0], NULL, write_unlocked, NULL);
		nr_raced++;
		pthread_join(threads[0], NULL);
	}
	return 0;
}
