// SPDX-License-Identifier: MIT
/*
 * A pool in the manner of libuv: submitter WORKERS TASKS. The submitter submits
 * a task with the mutex held, and signals if a worker is idle. A worker reports
 * through an eventfd that a task is done. The submitter polls this file, and
 * submits the next task for each one that is done, so that BATCH tasks are
 * always under way. A task is one system call.
 */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static long queued; /* under lock, as are the next two */
static int nr_idle;
static bool stop;

static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;
static long nr_done; /* under done_lock; since the submitter's last look */
static int done_fd;

static void do_task(void)
{
	struct stat found;

	if (stat("/", &found))
		abort();
}

static void report(void)
{
	uint64_t one = 1;

	pthread_mutex_lock(&done_lock);
	nr_done++;
	pthread_mutex_unlock(&done_lock);
	if (write(done_fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

static void *work(void *arg)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!queued && !stop) {
			nr_idle++;
			pthread_cond_wait(&filled, &lock);
			nr_idle--;
		}
		if (!queued)
			break;
		queued--;
		pthread_mutex_unlock(&lock);
		do_task();
		report();
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
	return arg;
}

static void submit(void)
{
	pthread_mutex_lock(&lock);
	queued++;
	if (nr_idle > 0)
		pthread_cond_signal(&filled);
	pthread_mutex_unlock(&lock);
}

/* Return: how many tasks have been done since the last call. */
static long await_done(void)
{
	struct pollfd waited_for = { .fd = done_fd, .events = POLLIN };
	uint64_t value;
	long nr;

	poll(&waited_for, 1, -1);
	if (read(done_fd, &value, sizeof(value)) != sizeof(value))
		return 0;
	pthread_mutex_lock(&done_lock);
	nr = nr_done;
	nr_done = 0;
	pthread_mutex_unlock(&done_lock);
	return nr;
}

int main(int argc, char **argv)
{
	long nr_workers = argc == 3 ? atol(argv[1]) : 0, submitted = 0;
	long nr_tasks = argc == 3 ? atol(argv[2]) : 0, finished = 0;
	pthread_t *workers = calloc((size_t)nr_workers, sizeof(*workers));

	done_fd = eventfd(0, EFD_NONBLOCK);
	if (!nr_workers || !workers || done_fd < 0)
		return 2;
	for (long i = 0; i < nr_workers; i++)
		if (pthread_create(&workers[i], NULL, work, NULL))
			return 1;
	while (finished < nr_tasks) {
		while (submitted < nr_tasks && submitted < finished + BATCH) {
			submit();
			submitted++;
		}
		finished += await_done();
	}
	pthread_mutex_lock(&lock);
	stop = true;
	pthread_cond_broadcast(&filled);
	pthread_mutex_unlock(&lock);
	for (long i = 0; i < nr_workers; i++)
		pthread_join(workers[i], NULL);
	printf("%ld tasks\n", finished);
	free(workers);
	return 0;
}
