// SPDX-License-Identifier: MIT
/* A child of fork broadcasts to threads that only its parent has. */
#include "stuck.h"

#define NR 2

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static atomic_int tids[NR], of_child;

static void *listener(void *arg)
{
	atomic_int *tid = arg;

	pthread_mutex_lock(&mutex);
	atomic_store(tid, own_tid());
	pthread_cond_wait(&news, &mutex);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void broadcast(void)
{
	pthread_mutex_lock(&mutex);
	pthread_cond_broadcast(&news);
	pthread_mutex_unlock(&mutex);
}

static void child(void)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	broadcast();
	thread = start(listener, &of_child, "listener");
	wait_sleeps(&of_child);
	soon_stuck(2);
	broadcast(); /* waits for the parent's threads to leave */
	pthread_join(thread, NULL);
	_exit(0);
}

int main(void)
{
	int status = 0, pid;

	watch();
	for (int i = 0; i < NR; i++) {
		start(listener, &tids[i], "listener");
		wait_sleeps(&tids[i]);
	}
	pid = fork();
	if (!pid)
		child();
	CHECK(waitpid(pid, &status, 0) == pid);
	_exit(status != 0);
}
