// SPDX-License-Identifier: GPL-2.0-only
/*
 * No wait calls the program's allocator, because the allocator itself may wait.
 * This includes a thread's first wait, in a program with so many
 * thread-specific keys that the C library has no more room for them in each
 * thread.
 */
#include "blocked.h"
#include "api.h"

#define NR_KEYS 40 /* glibc has room for 32 */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t nr, size_t size);

static _Thread_local bool waits;
static atomic_int nr_calls;

void *malloc(size_t size)
{
	nr_calls += waits;
	return __libc_malloc(size);
}

void *calloc(size_t nr, size_t size)
{
	nr_calls += waits;
	return __libc_calloc(nr, size);
}

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *wait_once(void *result)
{
	waits = true;
	*(int *)result = api_time_out(&cond, &mutex);
	waits = false;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_key_t key;
	int result;

	drop_in_load(argv);
	if (!FRAMES_MAY_UNWIND || !STACKS_MAY_GO)
		return tap_skipped("an allocator", "the sanitizer has its own");
	tap_plan(2);
	watchdog("a first wait");
	for (int i = 0; i < NR_KEYS; i++)
		MUST(pthread_key_create(&key, NULL));
	joined(thread_of(wait_once, &result));
	tap_is(result, ETIMEDOUT, "with %d keys in use a wait times out",
	       NR_KEYS);
	tap_is(nr_calls, 0, "the wait has not called the allocator");
	return tap_exit();
}
