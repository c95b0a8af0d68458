// SPDX-License-Identifier: MIT
/* A thread is a waiter from its first wait until it ends. */
#include "base/valgrind.h"
#include "base/waiter.h"

_Static_assert(sizeof(struct waiter) == ARENA_ITEM, "a cache line each");

/* The destructor of this key runs when a thread ends. */
static pthread_key_t thread_end;
static bool thread_end_valid;
static pthread_once_t started = PTHREAD_ONCE_INIT;

/*
 * A destructor that runs after this one may wait on a condvar again. This wait
 * sets the thread up again, and waiter_end() runs once more. It does not run
 * again after the last round of destructors: then the waiter stays where it is,
 * unused.
 */
static void waiter_end(void *arg)
{
	struct waiter *w = arg;

	VALGRIND_DISABLE_ERROR_REPORTING;
	if (w->spare)
		arena_put(ARENA_GROUPS, w->spare);
	w->spare = NULL;
	waiter_remove(w);
	thread_this.waiter = NULL;
	arena_put(ARENA_WAITERS, w);
	VALGRIND_ENABLE_ERROR_REPORTING;
}

/*
 * This many keys have their place in each thread. For a key beyond them, a wait
 * would call the program's calloc(), which may be the function that waits. So
 * for such a key there is no destructor. A waiter then stays where it is when
 * its thread ends, until another thread with the same pthread_t waits.
 */
#ifdef __GLIBC__
#define NR_KEYS_INSIDE 32
#else
#define NR_KEYS_INSIDE PTHREAD_KEYS_MAX
#endif

/* Not before the first wait: a program that never waits may want all keys. */
static void first_wait(void)
{
	thread_end_valid = pthread_key_create(&thread_end, waiter_end) == 0 &&
			   thread_end < NR_KEYS_INSIDE;
}

struct waiter *waiter_setup(void)
{
	pthread_t self = pthread_self();
	struct waiter *w, *fresh = arena_get(ARENA_WAITERS);
	struct lock *lock;

	pthread_once(&started, first_wait);
	/*
	 * Has a thread that has ended, or this one, left its waiter behind?
	 */
	w = waiter_find(self, &lock);
	if (!w && fresh) {
		w = fresh;
		w->thread = self;
		waiter_add(w);
	}
	if (w) {
		w->bit = UINT32_C(1) << thread_self()->number % WAITER_BITS;
		w->tid = thread_tid();
	}
	lock_drop(lock);
	if (fresh && fresh != w)
		arena_put(ARENA_WAITERS, fresh);
	if (w && thread_end_valid)
		pthread_setspecific(thread_end, w);
	thread_this.waiter = w;
	return w;
}
