// SPDX-License-Identifier: MIT
/* A pool of two threads: each task submits another task and waits for it. */
#include "stuck.h"

#define NR 2

struct task {
	struct task *next;
	bool nested, is_done;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queued = PTHREAD_COND_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
static struct task *queue;
static atomic_int nr_begun;

static void submit(struct task *task)
{
	pthread_mutex_lock(&mutex);
	task->next = queue;
	queue = task;
	pthread_cond_signal(&queued);
	pthread_mutex_unlock(&mutex);
}

__attribute__((noinline)) static void get_result(struct task *task)
{
	pthread_mutex_lock(&mutex);
	while (!task->is_done)
		pthread_cond_wait(&finished, &mutex);
	pthread_mutex_unlock(&mutex);
}

__attribute__((noinline)) static void run(struct task *task)
{
	struct task half = { .nested = true };

	if (task->nested)
		return;
	atomic_fetch_add(&nr_begun, 1);
	while (atomic_load(&nr_begun) < NR)
		sched_yield();
	submit(&half);
	get_result(&half);
	task->is_done = half.is_done;
}

static struct task *next_task(void)
{
	struct task *task;

	pthread_mutex_lock(&mutex);
	while (!queue)
		pthread_cond_wait(&queued, &mutex);
	task = queue;
	queue = task->next;
	pthread_mutex_unlock(&mutex);
	return task;
}

static void *pool_worker(void *arg)
{
	for (;;) {
		struct task *task = next_task();

		run(task);
		pthread_mutex_lock(&mutex);
		task->is_done = true;
		pthread_cond_broadcast(&finished);
		pthread_mutex_unlock(&mutex);
	}
	return arg;
}

int main(void)
{
	static struct task tasks[NR];

	watch();
	for (int i = 0; i < NR; i++)
		submit(&tasks[i]);
	for (int i = 0; i < NR; i++)
		start(pool_worker, NULL, "pool worker");
	soon_stuck(NR + 1);
	get_result(&tasks[0]);
	return 0;
}
