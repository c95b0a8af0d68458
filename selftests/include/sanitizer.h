/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sanitizer.h - what cannot be tested in a build with a sanitizer
 *
 *	if (!HANDLERS_ARE_PROMPT)
 *		return handlers_are_late();
 *	if (!CHILDREN_MAY_HAVE_THREADS)
 *		return children_have_no_threads();
 *
 * ThreadSanitizer keeps signals back until a thread comes by at one of its own
 * functions, so a thread that sleeps in futex never runs its handler. It ends
 * the child of a fork that starts a thread. It crashes in a thread of
 * thrd_create(), or whose memory was unmapped after its end, and takes a mutex
 * that answers EINVAL for one that does not exist; of a mutex of the program's
 * own it knows nothing. A race that a test makes on purpose it reports, of
 * course. AddressSanitizer takes the frames that a cancellation unwinds for
 * alive.
 */
#ifndef DROVER_SELFTESTS_SANITIZER_H
#define DROVER_SELFTESTS_SANITIZER_H

#include "tap.h"

#ifdef __SANITIZE_THREAD__
#define HANDLERS_ARE_PROMPT	  0
#define CHILDREN_MAY_HAVE_THREADS 0
#define C11_THREADS_ARE_KNOWN	  0
#define ANY_LOCK_MAY_FAIL	  0
#define STACKS_MAY_GO		  0
#define RACES_MAY_BE_REAL	  0
#define MUTEXES_MAY_BE_FOREIGN	  0
#else
#define HANDLERS_ARE_PROMPT	  1
#define CHILDREN_MAY_HAVE_THREADS 1
#define C11_THREADS_ARE_KNOWN	  1
#define ANY_LOCK_MAY_FAIL	  1
#define STACKS_MAY_GO		  1
#define RACES_MAY_BE_REAL	  1
#define MUTEXES_MAY_BE_FOREIGN	  1
#endif

#ifdef __SANITIZE_ADDRESS__
#define FRAMES_MAY_UNWIND 0
#else
#define FRAMES_MAY_UNWIND 1
#endif

#define FRAMES_STAY "AddressSanitizer takes unwound frames for alive"

/* skips_cancellation - for one test of several: skipped where frames stay */
static inline bool skips_cancellation(const char *name)
{
	if (!FRAMES_MAY_UNWIND)
		tap_skip(name, FRAMES_STAY);
	return !FRAMES_MAY_UNWIND;
}

static inline int sanitizer_skips(const char *name, const char *why)
{
	tap_plan(1);
	tap_skip(name, why);
	return tap_exit();
}

/* frames_stay - what main() returns where threads are cancelled */
static inline int frames_stay(void)
{
	return sanitizer_skips("cancellation", FRAMES_STAY);
}

/* handlers_are_late - what main() returns where all depends on handlers */
static inline int handlers_are_late(void)
{
	return sanitizer_skips("signal handlers",
			       "ThreadSanitizer holds them back");
}

/* children_have_no_threads - the same where children start threads */
static inline int children_have_no_threads(void)
{
	return sanitizer_skips("threads of a child",
			       "ThreadSanitizer ends the child");
}

static inline int c11_threads_are_unknown(void)
{
	return sanitizer_skips("C11 threads",
			       "ThreadSanitizer crashes in them");
}

#endif /* DROVER_SELFTESTS_SANITIZER_H */
