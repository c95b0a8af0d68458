// SPDX-License-Identifier: MIT
/* Data that the child of a fork must not inherit. */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "base/fork.h"

struct wiped wiped;
_Atomic uint32_t nr_forks;

/* For a kernel that does not wipe. In the child only the caller exists. */
static void wipe(void)
{
	memset(&wiped, 0, sizeof(wiped));
}

/*
 * The first thread that asks for a generation calls this, too, because
 * constructors of other libraries may run first. An emulator that accepts any
 * advice, such as -1, does not know MADV_WIPEONFORK.
 */
__attribute__((constructor)) static void fork_expect(void)
{
	static atomic_bool expected;

	if (swap_relaxed(&expected, true))
		return;
	if (!madvise(&wiped, sizeof(wiped), -1) ||
	    madvise(&wiped, sizeof(wiped), MADV_WIPEONFORK))
		pthread_atfork(NULL, NULL, wipe);
}

/*
 * Threads that ask at the same time take a number each, and all use the same
 * one.
 */
uint32_t fork_generation_own(void)
{
	uint32_t unknown = 0, nr = 0;

	if (load_relaxed(&wiped.nr_fork))
		return fork_generation();
	fork_expect();
	while (!nr)
		nr = (add_relaxed(&nr_forks, 1) + 1) & ~GENERATION_LEAST;
	cas_relaxed(&wiped.nr_fork, &unknown, nr);
	return fork_generation();
}
