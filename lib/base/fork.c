// SPDX-License-Identifier: MIT
/* What is forgotten in the child of a fork. */
#include <pthread.h>
#include <string.h>

#include "base/arena.h"
#include "base/fork.h"
#include "base/waiter.h"

uint32_t fork_generation = GENERATION_LEAST;
struct lock fork_lock;

/* Only the calling thread exists. */
static void start_anew(void)
{
	fork_generation = (fork_generation + 1) | GENERATION_LEAST;
	memset(&fork_lock, 0, sizeof(fork_lock));
	arena_after_fork();
	thread_after_fork();
	waiters_after_fork();
}

/* The first to wait calls it, too: other constructors may come before it. */
__attribute__((constructor)) void fork_expect(void)
{
	static atomic_bool expected;

	if (!swap_relaxed(&expected, true))
		pthread_atfork(NULL, NULL, start_anew);
}
