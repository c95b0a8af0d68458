/* SPDX-License-Identifier: MIT */
/* Two threads take two mutexes in opposite order, and each gets one. */
#ifndef WHY_CROSSING_H
#define WHY_CROSSING_H

#include "stuck.h"

/* Zero bytes are an initialised mutex of the default kind. */
static pthread_mutex_t first, second;
static pthread_barrier_t both;

static void *forwards(void *arg)
{
	pthread_mutex_lock(&first);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&second);
	return NULL;
}

static void *backwards(void *arg)
{
	pthread_mutex_lock(&second);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&first);
	return NULL;
}

static void start_crossing(void)
{
	pthread_barrier_init(&both, NULL, 2);
	start(forwards, NULL, "forwards");
	start(backwards, NULL, "backwards");
}

#endif /* WHY_CROSSING_H */
