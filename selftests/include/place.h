/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * place.h - where a thread sleeps that waits on a condvar or its mutex
 *
 *	place_of(getpid(), tid, &mutex)
 *
 * A thread that sleeps in futex shows the call that put it to sleep, also
 * after a requeue. So a waiter that was woken and went to sleep on the mutex is
 * AT_MUTEX, and one that was moved there is AT_COND as before. Who sleeps in
 * FUTEX_LOCK_PI elsewhere wants a lock inside the library for a moment; in
 * FUTEX_WAIT, which no wait on a condvar uses, one inside a sanitizer.
 */
#ifndef DROVER_SELFTESTS_PLACE_H
#define DROVER_SELFTESTS_PLACE_H

#include <linux/futex.h>

#include "blocked.h"

enum place {
	RETURNED, /* for the caller to know */
	AT_COND,  /* in the sleep that began at the condvar, moved or not */
	AT_MUTEX, /* was awake since */
	AWAKE,	  /* on the way */
};

static inline enum place place_of(pid_t pid, pid_t tid, const void *mutex)
{
	unsigned long long address, op;
	char text[512];
	long nr;

	if (blocked_read(pid, tid, "syscall", text, sizeof(text)) < 0 ||
	    sscanf(text, "%ld 0x%llx 0x%llx", &nr, &address, &op) != 3 ||
	    nr != SYS_futex)
		return AWAKE;
	/* Second, so that it is this sleep or a later one. */
	if (blocked_read(pid, tid, "stat", text, sizeof(text)) < 0 ||
	    !blocked_state_is_sleep(text))
		return AWAKE;
	if (address == (uintptr_t)mutex)
		return AT_MUTEX;
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
		return AT_COND;
	default:
		return AWAKE;
	}
}

/* place_settled - wait until the thread sleeps in its wait; 0 or -ETIMEDOUT */
static inline int place_settled(pid_t pid, pid_t tid, const void *mutex)
{
	int64_t deadline = blocked_deadline();

	while (place_of(pid, tid, mutex) != AT_COND) {
		if (blocked_over(deadline))
			return -ETIMEDOUT;
		sched_yield();
	}
	return 0;
}

#endif /* DROVER_SELFTESTS_PLACE_H */
