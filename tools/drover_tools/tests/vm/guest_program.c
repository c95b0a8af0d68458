// SPDX-License-Identifier: MIT
/*
 * The test of the runner runs this in a guest: a dynamically linked program
 * that needs the loader, libc and, for cancellation, libgcc_s.
 */

#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* With preload.c this prints 4242. */
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

/* All threads exist at once: none ends before the barrier is full. */
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

/* The player whose turn it is, 0 or 1. */
static _Atomic unsigned int turn;

static void play(unsigned int me, int rounds)
{
	while (rounds--) {
		while (turn != me)
			syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, !me,
				NULL);
		turn = !me;
		syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1);
	}
}

static void *play_second(void *rounds)
{
	play(1, *(int *)rounds);
	return NULL;
}

/*
 * Print the context switches of both players, and their CPU time in ns. Other
 * work of the guest, such as the start of its shell, does not count.
 */
static int ping_pong(int rounds)
{
	struct timespec start, end;
	struct rusage usage;
	pthread_t second;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	if (pthread_create(&second, NULL, play_second, &rounds))
		die("pthread_create");
	play(0, rounds);
	pthread_join(second, NULL);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	getrusage(RUSAGE_SELF, &usage);
	printf("%ld %lld\n", usage.ru_nvcsw + usage.ru_nivcsw,
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
