// SPDX-License-Identifier: MIT
/*
 * Nothing is wrong here: threads use Drover's own objects for ever, and none
 * waits for anything outside the process.
 */
#include <drover/barrier.h>
#include <drover/cond.h>
#include <drover/mutex.h>

#include "stuck.h"

#define NR_THREADS 3

static drover_mutex_t outer, inner;
static drover_cond_t turns = DROVER_COND_INITIALIZER;
static drover_barrier_t all = DROVER_BARRIER_INITIALIZER(NR_THREADS);
static int turn; /* [inner] */
static int numbers[NR_THREADS] = { 0, 1, 2 };

static bool is_mine(void *number)
{
	return turn == *(int *)number;
}

/* Threads take turns with two mutexes, and meet at a barrier. */
static void *take_turns(void *number)
{
	for (;;) {
		drover_mutex_lock(&outer);
		drover_mutex_lock(&inner);
		sched_yield();
		drover_mutex_unlock(&outer);
		drover_cond_await(&turns, &inner, is_mine, number);
		turn = (turn + 1) % NR_THREADS;
		drover_cond_broadcast(&turns);
		drover_mutex_unlock(&inner);
		drover_barrier_wait(&all);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread = 0;

	for (int i = 0; i < NR_THREADS; i++)
		thread = start(take_turns, &numbers[i], "turns");
	pthread_join(thread, NULL);
	return 2;
}
