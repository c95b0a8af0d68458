/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fork_threads.h - this program starts threads in a child of several threads
 *
 *	if (!fork_threads_work())
 *		tap_skip("a child with threads", FORK_THREADS_SKIP);
 *
 * POSIX leaves it open whether that works; glibc makes it work, and the tests
 * of fork are about it. The sanitizers do not: ThreadSanitizer takes the child's
 * threads for those of the parent that had the same address, and the lock of
 * AddressSanitizer's allocator may be held by a thread that is not in the child.
 */
#ifndef DROVER_SELFTESTS_FORK_THREADS_H
#define DROVER_SELFTESTS_FORK_THREADS_H

#include <stdbool.h>

#define FORK_THREADS_SKIP "this sanitizer cannot start threads there"

static inline bool fork_threads_work(void)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	return false;
#else
	return true;
#endif
}

#endif /* DROVER_SELFTESTS_FORK_THREADS_H */
