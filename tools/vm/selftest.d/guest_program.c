// SPDX-License-Identifier: MIT
/*
 * What the runner's own test runs in a guest: a dynamically linked program
 * that needs the loader, libc and, for cancellation, libgcc_s.
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* selftest.d/preload.c answers 4242. */
static int show_uid(void)
{
	return printf("%d\n", (int)getuid()) < 0;
}

static void *sleep_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static int cancel(void)
{
	pthread_t thread;
	void *result;

	if (pthread_create(&thread, NULL, sleep_for_ever, NULL))
		die("pthread_create");
	if (pthread_cancel(thread) || pthread_join(thread, &result))
		die("pthread_cancel");
	return result != PTHREAD_CANCELED;
}

/* All of them are there at once: none ends before the barrier is full. */
static int threads(int nr_threads)
{
	static pthread_barrier_t barrier;
	pthread_t *thread = calloc(nr_threads, sizeof(*thread));
	int i;

	if (!thread || pthread_barrier_init(&barrier, NULL, nr_threads + 1))
		die("pthread_barrier_init");
	for (i = 0; i < nr_threads; i++)
		if (pthread_create(&thread[i], NULL,
				   (void *(*)(void *))pthread_barrier_wait,
				   &barrier))
			die("pthread_create");
	pthread_barrier_wait(&barrier);
	for (i = 0; i < nr_threads; i++)
		pthread_join(thread[i], NULL);
	return printf("%d\n", nr_threads) < 0;
}

static void pass_ball(int from, int to, int rounds)
{
	char ball = 'o';

	while (rounds--)
		if (write(to, &ball, 1) != 1 || read(from, &ball, 1) != 1)
			die("pass_ball");
}

static long switches(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* Prints the context switches of both players, and nanoseconds. */
static int ping_pong(int rounds)
{
	struct timespec start, end;
	int there[2], back[2];
	char ball;

	if (pipe(there) || pipe(back))
		die("pipe");
	clock_gettime(CLOCK_MONOTONIC, &start);
	if (!fork()) {
		if (read(there[0], &ball, 1) != 1)
			die("read");
		pass_ball(there[0], back[1], rounds - 1);
		_exit(write(back[1], &ball, 1) != 1);
	}
	pass_ball(back[0], there[1], rounds);
	wait(NULL);
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%ld %lld\n", switches(RUSAGE_SELF) + switches(RUSAGE_CHILDREN),
	       (end.tv_sec - start.tv_sec) * 1000000000LL + end.tv_nsec -
		       start.tv_nsec);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "uid"))
		return show_uid();
	if (argc == 2 && !strcmp(argv[1], "cancel"))
		return cancel();
	if (argc == 3 && !strcmp(argv[1], "threads"))
		return threads(atoi(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "ping-pong"))
		return ping_pong(atoi(argv[2]));
	fprintf(stderr, "usage: %s uid|cancel|threads N|ping-pong N\n",
		argv[0]);
	return 2;
}
