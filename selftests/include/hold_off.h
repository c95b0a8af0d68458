/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hold_off.h - stop a waiting thread before it can look for its wake-up
 *
 *	hold_off(member->thread);	// now in a signal handler
 *	api_cond_signal(&cond);		// somebody else may try to take this
 *	hold_off_end(1);		// all handlers return
 *
 * The handler takes the thread out of its system call and keeps it until the
 * end, as an unlucky scheduler would.
 */
#ifndef DROVER_SELFTESTS_HOLD_OFF_H
#define DROVER_SELFTESTS_HOLD_OFF_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

#include "blocked.h"
#include "tap.h"

static atomic_int nr_held_off, nr_let_go;
static atomic_bool holding_off;

static inline void hold_off_here(int signal)
{
	(void)signal;
	atomic_fetch_add(&nr_held_off, 1);
	while (atomic_load(&holding_off))
		sched_yield();
	atomic_fetch_add(&nr_let_go, 1);
}

/* hold_off - @thread is in the handler when this returns */
static inline void hold_off(pthread_t thread)
{
	const struct sigaction action = {
		.sa_handler = hold_off_here,
		.sa_flags = SA_RESTART,
	};
	int nr = atomic_load(&nr_held_off);

	sigaction(SIGUSR2, &action, NULL);
	atomic_store(&holding_off, true);
	pthread_kill(thread, SIGUSR2);
	if (wait_at_least(&nr_held_off, nr + 1))
		tap_bail("a thread does not handle its signal");
}

/* hold_off_end - let all @nr go on */
static inline void hold_off_end(int nr)
{
	atomic_store(&holding_off, false);
	if (wait_at_least(&nr_let_go, nr))
		tap_bail("a thread does not leave its handler");
	atomic_store(&nr_held_off, 0);
	atomic_store(&nr_let_go, 0);
}

#endif /* DROVER_SELFTESTS_HOLD_OFF_H */
