// SPDX-License-Identifier: MIT
/*
 * The calls that stat.py counts: four threads wait at a gate, which a broadcast
 * opens while its mutex is held; three waits time out at once, and one is
 * cancelled; a child makes two signals. The exit status is 3.
 *
 * fixture drop-in|stock [stay]; stay: go on with signals until standard input
 * ends. stock: woken threads sleep again before the mutex is released.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#define NR_THREADS 4

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t gate = PTHREAD_COND_INITIALIZER;
pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
pthread_cond_t late = PTHREAD_COND_INITIALIZER;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;
cnd_t c11;

static int nr_arrived;
static bool is_open;
static pid_t ids[NR_THREADS + 1];

static void arrive(void)
{
	ids[nr_arrived++] = (pid_t)syscall(SYS_gettid);
	pthread_cond_signal(&arrived);
}

__attribute__((noinline)) void *wait_at_gate(void *arg)
{
	pthread_mutex_lock(&lock);
	arrive();
	while (!is_open)
		pthread_cond_wait(&gate, &lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *wait_for_ever(void *arg)
{
	pthread_mutex_lock(&lock);
	arrive();
	pthread_cleanup_push((void (*)(void *))pthread_mutex_unlock, &lock);
	for (;;)
		pthread_cond_wait(&never, &lock);
	pthread_cleanup_pop(1);
	return arg;
}

/* How often a thread has gone to sleep, or -1 if it does not sleep. */
static long sleeps(pid_t id)
{
	char path[64], line[128], state = 0;
	long nr = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", (int)id);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		sscanf(line, "State: %c", &state);
		sscanf(line, "voluntary_ctxt_switches: %ld", &nr);
	}
	if (file)
		fclose(file);
	return state == 'S' ? nr : -1;
}

/* Wait until each thread sleeps, and has slept more often than @least says. */
static void until_asleep(int nr, long *least)
{
	for (int i = 0; i < nr; i++) {
		long now;

		while ((now = sleeps(ids[i])) <= least[i])
			sched_yield();
		least[i] = now;
	}
}

static void until_arrived(int nr)
{
	while (nr_arrived < nr)
		pthread_cond_wait(&arrived, &lock);
}

__attribute__((noinline)) void open_gate(bool stock)
{
	long slept[NR_THREADS] = { -1, -1, -1, -1 };
	pthread_t threads[NR_THREADS];

	for (int i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i], NULL, wait_at_gate, NULL);
	pthread_mutex_lock(&lock);
	until_arrived(NR_THREADS);
	until_asleep(NR_THREADS, slept);
	is_open = true;
	pthread_cond_broadcast(&gate);
	if (stock)
		until_asleep(NR_THREADS, slept);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void cancel_one(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, wait_for_ever, NULL);
	pthread_mutex_lock(&lock);
	until_arrived(NR_THREADS + 1);
	pthread_mutex_unlock(&lock);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

static void be_late(void)
{
	struct timespec past = { 1, 0 };

	pthread_mutex_lock(&lock);
	for (int i = 0; i < 3; i++)
		pthread_cond_timedwait(&late, &lock, &past);
	pthread_mutex_unlock(&lock);
}

static void *wait_on(void *arg)
{
	pthread_mutex_lock(&lock);
	for (;;)
		pthread_cond_wait(&gate, &lock);
	return arg;
}

static void *signal_on(void *arg)
{
	for (;;) {
		pthread_cond_signal(&gate);
		sched_yield();
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	pid_t child;

	open_gate(argc > 1 && !strcmp(argv[1], "stock"));
	cancel_one();
	be_late();
	cnd_init(&c11);
	cnd_signal(&c11);
	child = fork();
	if (child == 0) {
		pthread_cond_signal(&gate);
		pthread_cond_signal(&gate);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	if (argc > 2) {
		pthread_create(&thread, NULL, wait_on, NULL);
		pthread_create(&thread, NULL, signal_on, NULL);
		printf("%d\n", (int)getpid());
		fflush(stdout);
		getchar();
	}
	return 3;
}
