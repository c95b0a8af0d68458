/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sanitizer.h - what cannot be tested in a build with ThreadSanitizer
 *
 *	if (!HANDLERS_ARE_PROMPT)
 *		return handlers_are_late();
 *
 * It keeps signals back until a thread comes by at one of its own functions,
 * so a thread that sleeps in futex never runs its handler. And it ends the
 * child of a fork that starts a thread.
 */
#ifndef DROVER_SELFTESTS_SANITIZER_H
#define DROVER_SELFTESTS_SANITIZER_H

#include "tap.h"

#ifdef __SANITIZE_THREAD__
#define HANDLERS_ARE_PROMPT	  0
#define CHILDREN_MAY_HAVE_THREADS 0
#else
#define HANDLERS_ARE_PROMPT	  1
#define CHILDREN_MAY_HAVE_THREADS 1
#endif

/* handlers_are_late - what main() returns where all depends on handlers */
static inline int handlers_are_late(void)
{
	tap_plan(1);
	tap_skip("signal handlers", "ThreadSanitizer holds them back");
	return tap_exit();
}

#endif /* DROVER_SELFTESTS_SANITIZER_H */
